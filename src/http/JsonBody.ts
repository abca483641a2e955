/** What can be wrong with the text of a JSON body, told where it is and without a word of its content. */
import { Result, type SchemaIssue } from "effect"
import { type ValidationError } from "../api/Failure.ts"
import { closingQuote } from "../domain/Json.ts"
import { validationFaults } from "./ValidationFaults.ts"

/** Deeper JSON than this is refused: nothing that a model reads needs it, and it breaks recursive code. */
const MAX_DEPTH = 128

/** What is wrong with a body before any schema looks at it. */
export const refusedOutright = (contentType: string | undefined, body: string): ValidationError | undefined => {
  if (contentType !== undefined && !/^application\/json\s*(?:;|$)/i.test(contentType.trim())) {
    const expected = "'application/json'"
    return {
      loc: ["header", "content-type"],
      msg: `Input should be ${expected}`,
      type: "literal_error",
      input: contentType.slice(0, 64),
      ctx: { expected }
    }
  }
  return isTooDeep(body) ? invalidJson(`nested deeper than ${MAX_DEPTH} levels`, undefined) : undefined
}

/** Counts brackets outside of strings, and skips strings whole; no parse, no recursion. */
const isTooDeep = (text: string): boolean => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 34) {
      at = closingQuote(text, at + 1)
      if (at === -1) return false
    } else if (code === 91 || code === 123) {
      if (++depth > MAX_DEPTH) return true
    } else if (code === 93 || code === 125) depth--
  }
  return false
}

const invalidJson = (error: string, position: number | undefined): ValidationError => ({
  loc: position === undefined ? ["body"] : ["body", position],
  msg: "JSON decode error",
  type: "json_invalid",
  ctx: { error }
})

/** Where and why a text is no JSON, without a word of its content; undefined when it is. */
const jsonFault = (text: string): ValidationError | undefined => {
  const parsed = Result.try(() => JSON.parse(text) as unknown)
  if (Result.isSuccess(parsed)) return undefined
  const message = parsed.failure instanceof Error ? parsed.failure.message : ""
  const position = /at position (\d+)/.exec(message)?.[1]
  const what =
    /^(?:Unexpected end of JSON input|Unexpected token '.'|Expected .*? in JSON|Unterminated string|Bad control character|Bad escaped character)/u.exec(
      message
    )?.[0]
  return invalidJson(what ?? "not valid JSON", position === undefined ? undefined : Number(position))
}

/** The faults of a body that is no JSON, or that a schema did not take. */
export const bodyFaults = (text: string, issue: SchemaIssue.Issue): ReadonlyArray<ValidationError> => {
  if (text === "") return [{ loc: ["body"], msg: "Field required", type: "missing" }]
  const fault = jsonFault(text)
  return fault === undefined ? validationFaults(issue, "body", JSON.parse(text)) : [fault]
}
