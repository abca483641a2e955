/**
 * Counts the values, the members of each object and the depth of a JSON text while its bytes arrive, packet by packet, so that a body that would hold the
 * process up is refused before anything parses it. Tells as well whether a number is there that has more digits than a parser keeps. It does
 * not say whether the text is JSON: the parser does.
 */
import { MAX_DEPTH } from "../../domain/Json.ts"

/** More values are refused. An empty list or object counts as two. */
export const MAX_VALUES = 500_000
/** An object with more members is refused: each of its names is kept, and such an object is slow in every step. */
export const MAX_MEMBERS = 20_000

/** A number of so many digits before its point may be beyond 2^53. */
const LONG_DIGITS = 16
/** Of a text with such a number, which takes ten times as long to parse, no more values are taken. */
export const MAX_EXACT_VALUES = 150_000

/** What a text has too much of. */
export type Excess = "depth" | "values" | "members" | "exact"

/** No text has so many digits that counting from here on reaches zero. */
const BEHIND_POINT = -(2 ** 30)

const QUOTE = 0x22
const COMMA = 0x2c
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export class JsonShape {
  #depth = 0
  #values = 1
  /** By level: the members of the object that is open there, or a number that never gets large for a list. */
  readonly #members = new Int32Array(MAX_DEPTH + 1)
  #inString = false
  /** An odd number of backslashes ended the last packet, inside a string. */
  #escapes = false
  /** Digits of the number under way; below zero behind its point. */
  #digits = 0
  #mostValues = MAX_VALUES

  /** Whether a number has digits that a parser may lose, outside of strings. */
  get hasLongNumber(): boolean {
    return this.#mostValues === MAX_EXACT_VALUES
  }

  /** Takes the next bytes, and answers what is too much from then on. */
  take(bytes: Uint8Array): Excess | null {
    let at = 0
    while (at < bytes.length) {
      if (this.#inString) {
        at = this.#skipString(bytes, at)
        continue
      }
      const byte = bytes[at++] ?? 0
      if (byte >= ZERO && byte <= NINE) {
        if (++this.#digits === LONG_DIGITS) this.#mostValues = MAX_EXACT_VALUES
        continue
      }
      this.#digits = byte === POINT ? BEHIND_POINT : 0
      switch (byte) {
        case QUOTE:
          this.#inString = true
          break
        case COMMA:
          this.#values++
          if (this.#count() > MAX_MEMBERS) return "members"
          break
        case OPEN_LIST:
          this.#values++
          if (++this.#depth > MAX_DEPTH) return "depth"
          this.#members[this.#depth] = -MAX_VALUES
          break
        case OPEN_OBJECT:
          this.#values++
          if (++this.#depth > MAX_DEPTH) return "depth"
          this.#members[this.#depth] = 1
          break
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          if (this.#depth > 0) this.#depth--
          break
        default:
      }
      if (this.#values > this.#mostValues) return this.hasLongNumber ? "exact" : "values"
    }
    return null
  }

  /** One more entry at the present level. Answers how many members an object has there. */
  #count(): number {
    const members = (this.#members[this.#depth] ?? 0) + 1
    this.#members[this.#depth] = members
    return members
  }

  /** Where to go on: behind the next quote of a string, or at the end of the packet. */
  #skipString(bytes: Uint8Array, from: number): number {
    const quote = bytes.indexOf(QUOTE, from)
    const end = quote === -1 ? bytes.length : quote
    let first = end
    while (first > from && bytes[first - 1] === BACKSLASH) first--
    const isOdd = (end - first) % 2 === 1
    // The run of backslashes goes on from the packet before.
    const escapes = first === from && this.#escapes ? !isOdd : isOdd
    this.#escapes = quote === -1 && escapes
    if (quote === -1) return end
    if (!escapes) this.#inString = false
    return quote + 1
  }
}
