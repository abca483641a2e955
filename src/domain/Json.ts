/** JSON that may be none, and texts of it that nobody parses. */
import { Option } from "effect"

const BACKSLASH = 92

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** The value of a JSON text; undefined when it is none, which no schema takes. */
export const parseJson = (text: string): unknown => Option.getOrUndefined(parse(text))

/** Deeper JSON than this is refused, from clients and from providers: nothing needs it, and it overflows the stack of recursive code. */
export const MAX_DEPTH = 128

/** Whether a value is nested deeper than `levels`. It looks no deeper itself. */
export const isDeeper = (value: unknown, levels: number = MAX_DEPTH): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  const parts: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.values(value)
  // A list of numbers may be very long: none of them is worth a call.
  return parts.some((part) => typeof part === "object" && isDeeper(part, levels - 1))
}

/** A number by its digits, which `JSON.stringify` writes as they are. */
export interface RawNumber {
  readonly rawJSON: string
}

// What TypeScript's library does not know yet.
declare global {
  interface JSON {
    rawJSON(text: string): RawNumber
    isRawJSON(value: unknown): value is RawNumber
  }
}

export const isRawNumber = (value: unknown): value is RawNumber => JSON.isRawJSON(value)

/** `context.source`: how a number was written. */
const keepDigits = (_: string, value: unknown, context?: { readonly source?: string }): unknown => {
  const written = context?.source ?? ""
  return Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(written)
    ? JSON.rawJSON(written)
    : value
}

const parseKeeping = Option.liftThrowable((text: string): unknown => JSON.parse(text, keepDigits))

/** As `parseJson`, but an integer beyond 2^53 is a `RawNumber`, so that it goes out with all its digits. Takes ten times as long. */
export const parseExactly = (text: string): unknown => Option.getOrUndefined(parseKeeping(text))

/** Where the JSON string ends whose text begins at `from`, behind its quote: the first quote with an even number of backslashes before it; -1: nowhere. */
export const closingQuote = (text: string, from: number): number => {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote
    while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((quote - before) % 2 === 0) return quote
  }
  return -1
}
