/**
 * Lenient reading of provider JSON: a missing member, null and a wrong type all read as absent. It
 * uses predicates instead of Schema because it runs once per stream event: a schema of the same
 * fields costs 2.5 µs an event, these 0.05 µs. Client requests are decoded strictly, elsewhere.
 */
import { isDeeper, MAX_DEPTH, parseJson } from "../../domain/json/Json.ts"
import { Malformed } from "../Provider.ts"

export type JsonRecord = Record<string, unknown>

export const isJsonRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Parses a JSON object. `Malformed` if the text is something else, or nested deeper than later
 * steps can handle.
 */
export const parseJsonRecord = (text: string): JsonRecord | Malformed => {
  const value = parseJson(text)
  if (!isJsonRecord(value)) return new Malformed({ detail: "not a JSON object" })
  // Each level takes two brackets.
  return text.length > 2 * MAX_DEPTH && isDeeper(value) ? new Malformed({ detail: "nested too deep" }) : value
}

/** The elements of an array that are objects. */
export const jsonRecordsOf = (value: unknown): ReadonlyArray<JsonRecord> => {
  if (!Array.isArray(value)) return []
  return value.every(isJsonRecord) ? value : value.filter(isJsonRecord)
}

export const stringOf = (value: unknown): string | null => (typeof value === "string" ? value : null)

/**
 * Above the tokens of any call. A larger number is an underflow or another mistake of the provider.
 */
export const MAX_COUNT = 1_000_000_000

/** A token count: an integer from 0 to `MAX_COUNT`, or null. */
export const countOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT ? value : null
