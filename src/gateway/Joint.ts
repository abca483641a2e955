/**
 * Where the text of one provider goes on at another: what the second says is made to follow what the client already has. A provider that
 * begins by repeating the whole text has the repeat taken out, and blanks that the client has are not sent twice. Text is held
 * back only as long as it may still be a repeat.
 */

/** A shorter text may well come twice by itself: "ha" goes on with "ha". */
const SHORTEST_REPEAT = 3

export class Joint {
  /** What the second provider is asked to go on from. Without trailing blanks, which some refuse and others repeat. */
  readonly text: string
  #blanks: string
  #held = ""
  #phase: "repeat" | "blanks" | "through"

  /** `sent`: all that the client has so far. */
  constructor(sent: string) {
    this.text = sent.trimEnd()
    this.#blanks = sent.slice(this.text.length)
    this.#phase = this.text.length >= SHORTEST_REPEAT ? "repeat" : "blanks"
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
    if (at < content.length) this.#phase = "through"
    return content.slice(at)
  }
}
