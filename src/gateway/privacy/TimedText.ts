/**
 * A text that can be read while there is time. RE2's engine takes as many steps for a character as the pattern has states, and a search
 * for one match may go through the whole text, so it has to be stopped from inside: once the time is over, the next reading throws,
 * and whoever began the search catches it.
 */
import { Result } from "effect"
import { type TimeBudget } from "./TimeBudget.ts"

/** Characters that are read between two looks at the clock; with the largest patterns this takes a few milliseconds. */
const READS = 64

export class TimedText extends String {
  readonly #text: string
  readonly #budget: TimeBudget
  #left = READS

  constructor(text: string, budget: TimeBudget) {
    super(text)
    this.#text = text
    this.#budget = budget
  }

  override charCodeAt(at: number): number {
    if (--this.#left === 0) {
      this.#left = READS
      if (this.#budget.isOver()) return Result.getOrThrow(Result.fail("the time is over"))
    }
    return this.#text.charCodeAt(at)
  }

  override indexOf(part: string, from?: number): number {
    return this.#text.indexOf(part, from)
  }
}
