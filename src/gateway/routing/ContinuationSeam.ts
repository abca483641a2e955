/**
 * Where the text of one provider goes on at another: what the second says is made to follow what the client already has. A provider that
 * begins by repeating the whole text has the repeat taken out, and blanks that the client has are not sent twice. Text is held
 * back only as long as it may still be a repeat. A text that is itself one piece again and again (`aaaa`) goes on with itself: there a
 * repeat cannot be told from what follows, and nothing is taken out.
 */

/** A shorter text may well come twice by itself: "ha" goes on with "ha". */
const SHORTEST_REPEAT = 3

export class ContinuationSeam {
  /** What the second provider is asked to go on from. Without trailing blanks, which some refuse and others repeat, nor half a character. */
  readonly text: string
  #blanks: string
  /** The first half of a character that the client has half of. */
  #half: string
  #held = ""
  #phase: "repeat" | "blanks" | "through"

  /** `sent`: all that the client has so far. */
  constructor(sent: string) {
    this.#half = /[\uD800-\uDBFF]$/.test(sent) ? sent.slice(-1) : ""
    const whole = this.#half === "" ? sent : sent.slice(0, -1)
    this.text = whole.trimEnd()
    this.#blanks = whole.slice(this.text.length)
    const isTold = this.text.length >= SHORTEST_REPEAT && !isPeriodic(this.text) && !isPeriodic(whole)
    this.#phase = isTold ? "repeat" : "blanks"
  }

  /** What of `content` goes to the client now. */
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

  /** What was held back, once it is clear that nothing more follows: it was no repeat. */
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

/** Whether a text is a shorter one, twice or more often. By the length of the longest border of each beginning of it: in one pass. */
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
