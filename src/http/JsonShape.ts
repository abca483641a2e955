/**
 * Counts the values and the depth of a JSON text while its bytes arrive, packet by packet, so that a body that would hold the
 * process up is refused before anything parses it. It does not say whether the text is JSON: the parser does.
 */

/** Deeper JSON is refused: nothing that a model reads needs it, and it breaks recursive code. */
export const MAX_DEPTH = 128
/** More values are refused. An empty list or object counts as two. */
export const MAX_VALUES = 500_000

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
  #inString = false
  /** An odd number of backslashes ended the last packet, inside a string. */
  #escapes = false

  /** Takes the next bytes, and answers what is too much from then on. */
  take(bytes: Uint8Array): "depth" | "values" | null {
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
          break
        case OPEN_LIST:
        case OPEN_OBJECT:
          this.#values++
          if (++this.#depth > MAX_DEPTH) return "depth"
          break
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          this.#depth--
          break
        default:
      }
      if (this.#values > MAX_VALUES) return "values"
    }
    return null
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
