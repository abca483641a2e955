/** Faults of the text of a JSON body: their place and kind, without any of its content. */
import { Result, type SchemaIssue } from "effect"
import { type ValidationError } from "../../api/Failure.ts"
import { MAX_DEPTH } from "../../domain/json/Json.ts"
import { type Excess, MAX_EXACT_VALUES, MAX_MEMBERS, MAX_VALUES } from "../../domain/json/JsonShape.ts"
import { MAX_FAULTS, validationFaults } from "./ValidationFaults.ts"

/** A body with a content type other than JSON. */
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

/** A body that exceeds a limit of JSON. */
export const excessFault = (excess: Excess): ValidationError => invalidJson(tooMuch[excess], undefined)

const tooMuch: Readonly<Record<Excess, string>> = {
  depth: `nested deeper than ${MAX_DEPTH} levels`,
  values: `more than ${MAX_VALUES} values`,
  members: `an object with more than ${MAX_MEMBERS} members`,
  exact: `more than ${MAX_EXACT_VALUES} values together with a number of 16 or more digits`
}

const invalidJson = (error: string, position: number | undefined, where = {}): ValidationError => ({
  loc: position === undefined ? ["body"] : ["body", position],
  msg: "JSON decode error",
  type: "json_invalid",
  ctx: { error, ...where }
})

/** Line and column of a position, both from 1. */
const placeOf = (text: string, position: number) => {
  const before = text.slice(0, position)
  const line = before.split("\n").length
  return { line, column: position - before.lastIndexOf("\n") }
}

/** The place and kind of a syntax error, without any of the text. */
export const jsonFault = (text: string): ValidationError => {
  if (text === "") return { loc: ["body"], msg: "Field required", type: "missing" }
  const parsed = Result.try(() => JSON.parse(text) as unknown)
  const message = Result.isFailure(parsed) && parsed.failure instanceof Error ? parsed.failure.message : ""
  const told = /at position (\d+)/.exec(message)?.[1]
  const what =
    /^(?:Unexpected end of JSON input|Unexpected token '.'|Expected .*? in JSON|Unterminated string|Bad control character|Bad escaped character)/u.exec(
      message
    )?.[0]
  if (told === undefined) return invalidJson(what ?? "not valid JSON", undefined)
  return invalidJson(what ?? "not valid JSON", Number(told), placeOf(text, Number(told)))
}

/** Checks of a body that its schema cannot make. */
export type Beyond = (value: unknown) => ReadonlyArray<ValidationError>

/**
 * All faults of a body that its schema refused. For one place, the schema's fault takes precedence.
 */
export const schemaFaults = (
  value: unknown,
  issue: SchemaIssue.Issue,
  beyond: Beyond
): ReadonlyArray<ValidationError> => {
  const faults = validationFaults(issue, "body", value)
  const places = new Set(faults.map(({ loc }) => JSON.stringify(loc)))
  return [...faults, ...beyond(value).filter(({ loc }) => !places.has(JSON.stringify(loc)))].slice(0, MAX_FAULTS)
}
