/** Lenient JSON parsing, and helpers that scan JSON text without parsing it. */
import { Option } from "effect"

const BACKSLASH = 92

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** The value of a JSON text. Undefined if it is invalid, which every schema rejects. */
export const parseJson = (text: string): unknown => Option.getOrUndefined(parse(text))

/**
 * Largest nesting depth accepted from clients and providers. Deeper JSON is never needed and can
 * overflow the stack of recursive code.
 */
export const MAX_DEPTH = 128

/** True if a value is nested deeper than `levels`. Recurses no deeper than that. */
export const isDeeper = (value: unknown, levels: number = MAX_DEPTH): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) {
    // Avoids a call per number in long lists of numbers.
    for (const part of value) if (typeof part === "object" && isDeeper(part, levels - 1)) return true
  } else {
    for (const name in value) if (isDeeper(Reflect.get(value, name), levels - 1)) return true
  }
  return false
}

/** A number in its original digits, which `JSON.stringify` writes unchanged. */
export interface RawNumber {
  readonly rawJSON: string
}

// Missing in TypeScript's library.
declare global {
  interface JSON {
    rawJSON(text: string): RawNumber
    isRawJSON(value: unknown): value is RawNumber
  }
}

export const isRawNumber = (value: unknown): value is RawNumber => JSON.isRawJSON(value)

/** `context.source`: the number as written. */
const keepDigits = (_: string, value: unknown, context?: { readonly source?: string }): unknown => {
  const written = context?.source ?? ""
  return Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(written)
    ? JSON.rawJSON(written)
    : value
}

const parseKeeping = Option.liftThrowable((text: string): unknown => JSON.parse(text, keepDigits))

/**
 * Like `parseJson`, but an integer beyond 2^53 becomes a `RawNumber`, so that it is sent with all
 * its digits. Takes ten times as long.
 */
export const parseExactly = (text: string): unknown => Option.getOrUndefined(parseKeeping(text))

/**
 * The end of a JSON string whose content begins at `from`: the index of the first quote with an
 * even number of backslashes before it, or -1.
 */
export const closingQuote = (text: string, from: number): number => {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote
    while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((quote - before) % 2 === 0) return quote
  }
  return -1
}
