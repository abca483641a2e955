/**
 * A text that is JSON, in the pieces that are searched one by one: each string decoded, and what stands between strings as it is. Pieces
 * know where they are in the text, so that a placeholder replaces just the value and all else keeps its bytes. A text that only looks
 * like JSON comes apart all the same: what is no string is searched as it stands.
 */
import { Result } from "effect"
import { closingQuote } from "../../domain/Json.ts"

export interface Piece {
  /** Where the piece begins in the text: behind the quote of a string. */
  readonly start: number
  /** As it is searched. */
  readonly text: string
  /** Where a character of `text` begins in the whole; also for the end of `text`. */
  readonly offset: (at: number) => number
  readonly isString: boolean
}

const BACKSLASH = 92

/** One after the other, as they are asked for: who has found enough, or has no more time, makes no more of them. */
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

/** Escapes are two characters for one, or six. The places are counted once, when the first is asked for. */
const offsetIn = (raw: string, start: number): ((at: number) => number) => {
  let places: Array<number> | undefined
  return (at) => {
    if (places === undefined) {
      places = []
      for (let from = 0; from < raw.length; from += width(raw, from)) places.push(start + from)
      places.push(start + raw.length)
    }
    return places[at] ?? start + raw.length
  }
}

const width = (raw: string, at: number): number => (raw.charCodeAt(at) !== BACKSLASH ? 1 : raw[at + 1] === "u" ? 6 : 2)

/** Whether a text is searched as JSON: it begins and ends as an object or a list does. */
export const looksLikeJson = (text: string): boolean =>
  /^\s{0,64}[{[]/.test(text) && /[}\]]\s{0,64}$/.test(text.slice(-65))

/** A value as it stands inside a JSON string. */
export const escapedForJson = (value: string): string => JSON.stringify(value).slice(1, -1)
