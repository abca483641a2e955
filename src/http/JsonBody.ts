/** What can be wrong with the text of a JSON body, told where it is and without a word of its content. */
import { Result, type SchemaIssue } from "effect"
import { type ValidationError } from "../api/Failure.ts"
import { MAX_DEPTH } from "../domain/Json.ts"
import { type Excess, MAX_MEMBERS, MAX_VALUES } from "./JsonShape.ts"
import { MOST_FAULTS, validationFaults } from "./ValidationFaults.ts"

/** A body that is not said to be JSON. */
export const typeFault = (contentType: string | undefined): ValidationError | undefined => {
  if (contentType === undefined || /^application\/json\s*(?:;|$)/i.test(contentType.trim())) return undefined
  const expected = "'application/json'"
  return {
    loc: ["header", "content-type"],
    msg: `Input should be ${expected}`,
    type: "literal_error",
    input: contentType.slice(0, 64),
    ctx: { expected }
  }
}

/** A body that holds more than is looked at. */
export const excessFault = (excess: Excess): ValidationError => invalidJson(tooMuch[excess], undefined)

const tooMuch: Readonly<Record<Excess, string>> = {
  depth: `nested deeper than ${MAX_DEPTH} levels`,
  values: `more than ${MAX_VALUES} values`,
  members: `an object with more than ${MAX_MEMBERS} members`
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

/**
 * The faults of a body that is no JSON, or that a schema did not take: as `issueOf` says of the parsed body. `beyond`: what else is wrong
 * with it; of one place the schema's word is the one.
 */
export const bodyFaults = (
  text: string,
  issueOf: (value: unknown) => SchemaIssue.Issue,
  beyond: (value: unknown) => ReadonlyArray<ValidationError> = () => []
): ReadonlyArray<ValidationError> => {
  if (text === "") return [{ loc: ["body"], msg: "Field required", type: "missing" }]
  const fault = jsonFault(text)
  if (fault !== undefined) return [fault]
  const value: unknown = JSON.parse(text)
  const faults = validationFaults(issueOf(value), "body", value)
  const places = new Set(faults.map(({ loc }) => JSON.stringify(loc)))
  return [...faults, ...beyond(value).filter(({ loc }) => !places.has(JSON.stringify(loc)))].slice(0, MOST_FAULTS)
}
