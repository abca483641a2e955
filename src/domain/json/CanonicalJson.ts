/**
 * Canonical JSON: the same text for every order of members, and different texts for all other
 * differences. Members without a value are left out. It is generated in pieces, so that a large
 * value is not written or hashed in one go.
 */
import { Effect } from "effect"
import { isRawNumber } from "./Json.ts"
import { type Turns } from "../Turns.ts"

/** Approximate length of a piece, a fraction of a millisecond's work. Longer strings are split. */
export const PIECE_CHARACTERS = 65_536

/**
 * Each entry and member counts as this many additional characters, because empty ones cost time
 * too.
 */
const PART_CHARACTERS = 8

/** The piece being written. */
class Piece {
  text = ""
  parts = 0

  isFull(): boolean {
    return this.text.length + this.parts * PART_CHARACTERS >= PIECE_CHARACTERS
  }

  /** Returns the text and begins the next piece. */
  take(): string {
    const { text } = this
    this.text = ""
    this.parts = 0
    return text
  }
}

/** The text of a short value without parts, or null. */
const shortText = (value: unknown): string | null => {
  if (typeof value === "string") return value.length < PIECE_CHARACTERS ? JSON.stringify(value) : null
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  return isRawNumber(value) ? value.rawJSON : null
}

/** Writes a value that `shortText` does not cover. */
const written = (value: unknown, piece: Piece): Generator<string, void> => {
  if (typeof value === "string") return writtenString(value, piece)
  return Array.isArray(value) ? writtenList(value, piece) : writtenMembers(Object(value), piece)
}

function* writtenString(value: string, piece: Piece): Generator<string, void> {
  piece.text += '"'
  for (let from = 0; from < value.length; from += PIECE_CHARACTERS) {
    // A split surrogate pair is written as two escapes, which parse to the same character.
    piece.text += JSON.stringify(value.slice(from, from + PIECE_CHARACTERS)).slice(1, -1)
    yield piece.take()
  }
  piece.text += '"'
}

function* writtenList(list: ReadonlyArray<unknown>, piece: Piece): Generator<string, void> {
  piece.text += "["
  let separator = ""
  for (const entry of list) {
    const text = shortText(entry)
    piece.text += `${separator}${text ?? ""}`
    if (text === null) yield* written(entry, piece)
    separator = ","
    piece.parts++
    if (piece.isFull()) yield piece.take()
  }
  piece.text += "]"
}

/** A list that is in order already is not sorted: sorting copies it. */
const sorted = (names: Array<string>): ReadonlyArray<string> =>
  names.every((name, at) => at === 0 || (names[at - 1] ?? "") < name) ? names : names.sort()

function* writtenMembers(members: object, piece: Piece): Generator<string, void> {
  piece.text += "{"
  let separator = ""
  for (const name of sorted(Object.keys(members))) {
    const value: unknown = Reflect.get(members, name)
    piece.parts++
    if (value !== undefined && value !== null) {
      const text = shortText(value)
      piece.text += `${separator}${JSON.stringify(name)}:${text ?? ""}`
      if (text === null) yield* written(value, piece)
      separator = ","
    }
    if (piece.isFull()) yield piece.take()
  }
  piece.text += "}"
}

/** Yields all pieces except the last, which it returns. */
export function* canonicalPieces(value: unknown): Generator<string, string> {
  const text = shortText(value)
  if (text !== null) return text
  const piece = new Piece()
  yield* written(value, piece)
  return piece.text
}

/** Feeds pieces to a hash: a single piece at once, more of them in turns. */
export const feed = (
  pieces: Iterator<string, string>,
  hash: { readonly update: (text: string) => unknown },
  turns: Turns
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const first = pieces.next()
    hash.update(first.value)
    return first.done === true ? Effect.void : feedInTurns(pieces, hash, turns)
  })

const feedInTurns = Effect.fnUntraced(function* (
  pieces: Iterator<string, string>,
  hash: { readonly update: (text: string) => unknown },
  turns: Turns
) {
  yield* turns.next
  for (;;) {
    const { done, value } = pieces.next()
    hash.update(value)
    if (done === true) return
    if (turns.isOver()) yield* turns.next
  }
})
