/** Finds the end of a JSON object that arrives in pieces. */
export class JsonEnd {
  #depth = 0
  #hasBegun = false
  #isText = false
  #isEscaped = false

  get isReached(): boolean {
    return this.#hasBegun && this.#depth === 0
  }

  add(piece: string): void {
    for (let at = 0; at < piece.length; at++) {
      const character = piece[at]
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (character === "\\") this.#isEscaped = true
        else if (character === '"') this.#isText = false
      } else if (character === '"') this.#isText = true
      else if (character === "{" || character === "[") {
        this.#depth++
        this.#hasBegun = true
      } else if (character === "}" || character === "]") this.#depth--
    }
  }
}
