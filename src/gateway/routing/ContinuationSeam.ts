/**
 * Joins the text of a second provider to the text that the client already has. If the second
 * provider begins by repeating the whole text, the repeat is removed. Whitespace that the client
 * has is not sent twice. Text is held back only while it may still be a repeat. A text that
 * consists of one repeated piece (`aaaa`) is joined as it is: there a repeat and a continuation
 * look the same.
 */

/** Shorter prefixes are too ambiguous to be recognised as a repeat: "ha" may continue "ha". */
const SHORTEST_REPEAT = 3

export class ContinuationSeam {
  /**
   * The text that the second provider continues. It has no trailing whitespace, which some
   * providers refuse and others repeat, and no half of a surrogate pair.
   */
  readonly text: string
  #blanks: string
  /** The high surrogate at the end of the client's text, if its low surrogate is missing. */
  #half: string
  #held = ""
  #phase: "repeat" | "blanks" | "through"

  /** `sent`: all text that the client has. */
  constructor(sent: string) {
    this.#half = /[\uD800-\uDBFF]$/.test(sent) ? sent.slice(-1) : ""
    const whole = this.#half === "" ? sent : sent.slice(0, -1)
    this.text = whole.trimEnd()
    this.#blanks = whole.slice(this.text.length)
    const isTold = this.text.length >= SHORTEST_REPEAT && !isPeriodic(this.text) && !isPeriodic(whole)
    this.#phase = isTold ? "repeat" : "blanks"
  }

  /** The part of `content` that goes to the client now. */
  take(content: string): string {
    if (this.#phase === "through") return content
    if (this.#phase === "blanks") return this.#afterBlanks(content)
    this.#held += content
    if (this.#held.length < this.text.length && this.text.startsWith(this.#held)) return ""
    const said = this.#held.startsWith(this.text) ? this.#held.slice(this.text.length) : this.#held
    this.#held = ""
    this.#phase = "blanks"
    return this.#afterBlanks(said)
  }

  /** The text that was held back, once the stream has ended: it was not a repeat. */
  flush(): string {
    const held = this.#held
    this.#held = ""
    this.#phase = "through"
    return held
  }

  #afterBlanks(content: string): string {
    let at = 0
    while (at < content.length && at < this.#blanks.length && content[at] === this.#blanks[at]) at++
    this.#blanks = this.#blanks.slice(at)
    if (at === content.length) return ""
    this.#phase = "through"
    return content.slice(this.#half !== "" && content[at] === this.#half ? at + 1 : at)
  }
}

/**
 * Whether a text is a shorter text repeated. Found in one pass, from the longest border of every
 * prefix.
 */
const isPeriodic = (text: string): boolean => {
  const borders = new Int32Array(text.length)
  let border = 0
  for (let at = 1; at < text.length; at++) {
    while (border > 0 && text.charCodeAt(at) !== text.charCodeAt(border)) border = borders[border - 1] ?? 0
    if (text.charCodeAt(at) === text.charCodeAt(border)) border++
    borders[at] = border
  }
  return border > 0 && text.length % (text.length - border) === 0
}
