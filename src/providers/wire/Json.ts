/**
 * Lean, null-tolerant reading of what providers send: a member that is missing, null or of another type than expected
 * reads as absent. Predicates by hand rather than Schema, because this runs once a stream event: a schema of the same
 * fields measured 2.5 µs an event beyond JSON.parse, this 0.05 µs. What clients send is decoded strictly, elsewhere.
 */
import { isDeeper, MAX_DEPTH, parseJson } from "../../domain/Json.ts"
import { Malformed } from "../Provider.ts"

export type JsonRecord = Record<string, unknown>

export const isJsonRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The object of a JSON text; `Malformed` when it is none, or nested deeper than what comes after can stand. */
export const parseJsonRecord = (text: string): JsonRecord | Malformed => {
  const value = parseJson(text)
  if (!isJsonRecord(value)) return new Malformed({ detail: "not a JSON object" })
  // Each level takes two brackets.
  return text.length > 2 * MAX_DEPTH && isDeeper(value) ? new Malformed({ detail: "nested too deep" }) : value
}

/** The elements of an array that are objects. */
export const jsonRecordsOf = (value: unknown): ReadonlyArray<JsonRecord> =>
  Array.isArray(value) ? value.filter(isJsonRecord) : []

export const stringOf = (value: unknown): string | null => (typeof value === "string" ? value : null)

/** More tokens than any call has. A larger figure is an underflow or a mistake of the provider's. */
export const MAX_COUNT = 1_000_000_000

/** A count of tokens: an integer from 0 to `MAX_COUNT`. */
export const countOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT ? value : null
