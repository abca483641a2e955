/**
 * Counts the values, the members of each object and the depth of a JSON text while its bytes arrive, packet by packet, so that a body that would hold the
 * process up is refused before anything parses it. It does not say whether the text is JSON: the parser does.
 */
import { MAX_DEPTH } from "../domain/Json.ts"

/** More values are refused. An empty list or object counts as two. */
export const MAX_VALUES = 500_000
/** An object with more members is refused: each of its names is kept, and such an object is slow in every step. */
export const MAX_MEMBERS = 20_000

/** What a text has too much of. */
export type Excess = "depth" | "values" | "members"

const QUOTE = 0x22
const COMMA = 0x2c
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

  /** Takes the next bytes, and answers what is too much from then on. */
  take(bytes: Uint8Array): Excess | null {
    let at = 0
    while (at < bytes.length) {
      if (this.#inString) {
        at = this.#skipString(bytes, at)
        continue
      }
      switch (bytes[at++]) {
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
      if (this.#values > MAX_VALUES) return "values"
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
