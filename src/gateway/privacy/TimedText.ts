/**
 * A string that can only be read while the budget lasts. RE2's engine takes as many steps per
 * character as the pattern has states, and searching one match may read the whole text, so a search
 * must be stopped from inside: once the time is over, the next read throws, and the caller of the
 * search catches it.
 */
import { Result } from "effect"
import { type TimeBudget } from "./TimeBudget.ts"

/**
 * Characters read between two checks of the clock. With the largest patterns this takes a few
 * milliseconds.
 */
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
