/**
 * The tokens of one prompt: bounds that are known at once, and the count, which is made when
 * something needs it and then takes the place of the bounds.
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

export class PromptTokens {
  /** The length of its texts. */
  readonly characters: number
  readonly #bound: PromptBound
  readonly #counting: (most: number) => Effect.Effect<number>
  #counted: number | null = null

  /** `count`: the tokens of the prompt; it may stop beyond `most`. */
  constructor(characters: number, bound: PromptBound, count: (most: number) => Effect.Effect<number>) {
    this.characters = characters
    this.#bound = bound
    this.#counting = count
  }

  static counted(tokens: number): PromptTokens {
    const prompt = new PromptTokens(0, { fewest: tokens, likely: tokens, most: tokens }, () => Effect.succeed(tokens))
    prompt.#counted = tokens
    return prompt
  }

  get isCounted(): boolean {
    return this.#counted !== null
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

  /** Counts the prompt. Counting may stop beyond `most`, for a request that is refused then. */
  count(most = Infinity): Effect.Effect<number> {
    return Effect.suspend(() =>
      this.#counted !== null
        ? Effect.succeed(this.#counted)
        : Effect.map(this.#counting(most), (tokens) => (this.#counted = tokens))
    )
  }
}
