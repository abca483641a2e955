/** One text that arrives in pieces, and is restored as far as it is complete. */
import { type Restorer } from "./Restoring.ts"

export class TextBuffer {
  readonly #restorer: Restorer
  readonly #restore: (text: string) => string
  #rest = ""

  constructor(restorer: Restorer, restore: (text: string) => string) {
    this.#restorer = restorer
    this.#restore = restore
  }

  /** Adds a piece and returns the text that is complete now. */
  push(piece: string): string {
    // As of most pieces: nothing waits, and no placeholder is or begins in it.
    if (this.#rest === "" && !piece.includes("[") && !piece.endsWith("\\")) return piece
    const text = this.#rest + piece
    const clear = text.length - this.#restorer.openEnd(text)
    this.#rest = text.slice(clear)
    return this.#restore(text.slice(0, clear))
  }

  get isHolding(): boolean {
    return this.#rest !== ""
  }

  flush(): string {
    const text = this.#restore(this.#rest)
    this.#rest = ""
    return text
  }
}
