/**
 * The tokens of one prompt: bounds that are known at once, closer bounds and the count. Each of
 * them is made when something needs it, and then takes the place of the one before.
 */
import { Effect } from "effect"

export interface PromptBound {
  /** At most the count. */
  readonly fewest: number
  /** An estimate of the count. */
  readonly likely: number
  /** At least the count. */
  readonly most: number
}

/** What makes the closer figures of a prompt. */
export interface PromptReader {
  /** A closer bound. It reads the prompt's characters, which takes milliseconds for a long one. */
  readonly bound: () => PromptBound
  /** The tokens of the prompt; it may stop beyond `most`. */
  readonly count: (most: number) => Effect.Effect<number>
}

/**
 * The share of a limit up to which a rough bound may be taken from it. A rough bound may be four
 * times the count, so more of it would soon refuse other requests.
 */
export const ROUGH_SHARE = 1 / 16

export class PromptTokens {
  /** The length of its texts. */
  readonly characters: number
  readonly #reader: PromptReader
  #bound: PromptBound
  #isRough: boolean
  #counted: number | null = null

  /** `isRough`: the reader can make a closer bound than `bound`. */
  constructor(characters: number, bound: PromptBound, isRough: boolean, reader: PromptReader) {
    this.characters = characters
    this.#bound = bound
    this.#isRough = isRough
    this.#reader = reader
  }

  static counted(tokens: number): PromptTokens {
    const bound = { fewest: tokens, likely: tokens, most: tokens }
    const prompt = new PromptTokens(0, bound, false, { bound: () => bound, count: () => Effect.succeed(tokens) })
    prompt.#counted = tokens
    return prompt
  }

  get isCounted(): boolean {
    return this.#counted !== null
  }

  /** Whether a closer bound can be had without a count. */
  get isRough(): boolean {
    return this.#isRough && this.#counted === null
  }

  /** At most the count. */
  get fewest(): number {
    return this.#counted ?? this.#bound.fewest
  }

  /** At least the count. */
  get most(): number {
    return this.#counted ?? this.#bound.most
  }

  /** The count, or an estimate of it. */
  get likely(): number {
    return this.#counted ?? this.#bound.likely
  }

  /** Replaces a rough bound by a closer one. */
  bound(): void {
    if (!this.isRough) return
    this.#isRough = false
    this.#bound = this.#reader.bound()
  }

  /** At least the count: a rough bound only if it is a small part of `limit`. */
  mostOf(limit: number): number {
    if (this.most > limit * ROUGH_SHARE) this.bound()
    return this.most
  }

  /** Counts the prompt. Counting may stop beyond `most`, for a request that is refused then. */
  count(most = Infinity): Effect.Effect<number> {
    return Effect.suspend(() =>
      this.#counted !== null
        ? Effect.succeed(this.#counted)
        : Effect.map(this.#reader.count(most), (tokens) => (this.#counted = tokens))
    )
  }
}
