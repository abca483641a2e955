/**
 * Splits a JSON text into pieces that are searched one by one: each string decoded, and the text
 * between strings as it is. A piece maps its offsets to the text, so that a placeholder replaces
 * only the value and all other bytes stay. Text that only looks like JSON is split too, and
 * whatever is not a string is searched as it is.
 */
import { Result } from "effect"
import { closingQuote } from "../../domain/json/Json.ts"

export interface Piece {
  /** Where the piece begins in the text. A string begins after its quote. */
  readonly start: number
  /** The text to search. */
  readonly text: string
  /** Maps an offset in `text`, including its end, to an offset in the whole text. */
  readonly offset: (at: number) => number
  readonly isString: boolean
}

/** Pieces are made lazily, so that a search that ends early makes no more of them. */
export function* jsonPieces(text: string): Generator<Piece, void> {
  const between = (start: number, end: number): Piece => ({
    start,
    text: text.slice(start, end),
    offset: (at) => start + at,
    isString: false
  })
  let from = 0
  for (let open = text.indexOf('"'); open !== -1; open = text.indexOf('"', from)) {
    const close = closingQuote(text, open + 1)
    if (close === -1) break
    if (open > from) yield between(from, open)
    yield stringPiece(text, open + 1, close)
    from = close + 1
  }
  if (text.length > from) yield between(from, text.length)
}

const stringPiece = (text: string, start: number, end: number): Piece => {
  const raw = text.slice(start, end)
  const plain: Piece = { start, text: raw, offset: (at) => start + at, isString: true }
  if (!raw.includes("\\")) return plain
  const decoded = Result.try(() => JSON.parse(`"${raw}"`) as unknown)
  if (Result.isFailure(decoded) || typeof decoded.success !== "string") return plain
  return { start, text: decoded.success, offset: offsetIn(raw, start), isString: true }
}

/**
 * An escape of two or six characters decodes to one. Findings ask in the order of the text, so each
 * search for the next escape begins where the last one ended.
 */
const offsetIn = (raw: string, start: number): ((at: number) => number) => {
  const escapeFrom = (from: number): number => {
    const found = raw.indexOf("\\", from)
    return found === -1 ? raw.length : found
  }
  // A place in the decoded text, the same place in `raw`, and the next escape.
  let decoded = 0
  let from = 0
  let escape = escapeFrom(0)
  return (at) => {
    if (at < decoded) {
      decoded = from = 0
      escape = escapeFrom(0)
    }
    while (decoded < at && from < raw.length) {
      const plain = Math.min(at - decoded, escape - from)
      decoded += plain
      from += plain
      if (decoded === at || from === raw.length) break
      decoded++
      from += raw[from + 1] === "u" ? 6 : 2
      escape = escapeFrom(from)
    }
    return start + from
  }
}

/** Whether a text is searched as JSON: it begins and ends like an object or a list. */
export const looksLikeJson = (text: string): boolean =>
  /^\s{0,64}[{[]/.test(text) && /[}\]]\s{0,64}$/.test(text.slice(-65))

/** A value as it is written inside a JSON string. */
export const escapedForJson = (value: string): string => JSON.stringify(value).slice(1, -1)
