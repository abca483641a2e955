/**
 * Counts the tokens of prompts without blocking the process. A prompt is bounded by its bytes at
 * once, more closely if its bytes do not decide, and counted only if something needs the count: in
 * turns with other prompts, and only as far as the caller needs. The tokenizer's tables are loaded
 * before the first count.
 *
 * Counts are cached, because a conversation is sent whole with each turn, and an application sends
 * the same instructions each time. The cache holds digests instead of texts, and is separate per
 * owner: a fast count would otherwise reveal that another owner had sent the text.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { hash } from "node:crypto"
import { TURN_NANOS } from "../../domain/runtime/Turns.ts"
import { PromptTokens } from "../../domain/PromptTokens.ts"
import { TwoGenerations } from "../../domain/runtime/TwoGenerations.ts"
import { boundOfPrompt, READ_CHARACTERS, roughBoundOf } from "./PromptBounds.ts"
import { countSlice, type CountText, loadTables, nextSlice } from "./Tokens.ts"

/** In characters. Counting a shorter text is as fast as the look-up. */
const WORTHWHILE_CHARACTERS = 32
/**
 * Texts of at least this length are cached separately, so that short texts, which seldom repeat, do
 * not evict them.
 */
const LONG_CHARACTERS = 128
/** Longer texts are not cached: the digest alone would take milliseconds. */
const HUGE_CHARACTERS = 524_288
export const MAX_CACHED = 20_000

/** Most characters counted in one turn. */
export const TURN_CHARACTERS = 16_384
/**
 * Fixed cost of a text, and how many characters are hashed in the time of counting one; in
 * characters.
 */
export const TEXT_CHARACTERS = 32
const DIGEST_CHARACTERS = 16

/** The content of a prompt. `flat` is the number of tokens of everything that is not text. */
export interface PromptTexts {
  readonly flat: number
  readonly texts: ReadonlyArray<string>
  readonly characters: number
  /** The length of a further text, which is not needed for a rough bound. */
  readonly unread?: number
  /** The bytes of the body, which has all of the texts; undefined if they are not known. */
  readonly bytes?: number | undefined
}

/** Reads a request for its texts. `isRough`: those that a rough bound needs. */
export type PromptSource = (isRough?: boolean) => PromptTexts

/** Collects the texts that a walk through a request would count. */
export const textsOf = (walk: (count: CountText) => number): PromptTexts => {
  const texts: Array<string> = []
  let characters = 0
  const flat = walk((text) => {
    texts.push(text)
    characters += text.length
    return 0
  })
  return { flat, texts, characters }
}

const isUnread = ({ unread = 0 }: PromptTexts): boolean => unread > 0

export class TokenCounter extends Context.Service<
  TokenCounter,
  {
    /**
     * The tokens of a prompt, bounded by its bytes. `texts` is called again for a closer bound and
     * for the count. A text that the owner sent before is not counted again.
     */
    readonly promptOf: (owner: string, texts: PromptSource) => PromptTokens
    /**
     * The tokens of a prompt. Counting stops beyond `most`; the result is then more than `most` and
     * less than the true count.
     */
    readonly count: (owner: string, prompt: PromptTexts, most?: number) => Effect.Effect<number>
  }
>()("tollgate/gateway/tokens/TokenCounter") {
  static readonly layer = Layer.effect(
    TokenCounter,
    Effect.gen(function* () {
      const memory = new CountMemory()
      const clock = yield* Clock.Clock
      /** One turn at a time, in the order of requests. */
      const turns = yield* Semaphore.make(1)

      const promptOf: TokenCounter["Service"]["promptOf"] = (owner, texts) => {
        const prompt = texts(true)
        const { characters, flat } = prompt
        const isRough = characters > READ_CHARACTERS
        // Token ids are exact.
        if (characters === 0 && !isUnread(prompt)) return PromptTokens.counted(flat)
        const bound = isRough ? roughBoundOf(prompt) : boundOfPrompt(isUnread(prompt) ? texts() : prompt)
        return new PromptTokens(characters, bound, isRough, {
          bound: () => boundOfPrompt(texts()),
          count: (most) => count(owner, texts(), most)
        })
      }

      const inTurns = (counting: Counting): Effect.Effect<number> => {
        const turn = Effect.suspend(() => {
          const endNanos = clock.monotonicTimeNanosUnsafe() + TURN_NANOS
          const isOver = counting.turn(() => clock.monotonicTimeNanosUnsafe() >= endNanos)
          return isOver ? Effect.succeed(true) : Effect.as(Effect.yieldNow, false)
        })
        return Effect.flatMap(turns.withPermit(turn), (isOver) =>
          isOver ? Effect.succeed(counting.tokens) : inTurns(counting)
        )
      }

      const count = (owner: string, prompt: PromptTexts, most = Infinity) =>
        Effect.andThen(
          loadTables,
          Effect.suspend(() => inTurns(new Counting(memory, owner, prompt, most)))
        )

      return TokenCounter.of({ promptOf, count })
    })
  )
}

/** The state of counting a long prompt. */
export class Counting {
  tokens: number
  /** Characters counted in the last turn, including the costs of digests and texts. */
  spent = 0
  readonly #memory: CountMemory
  readonly #owner: string
  readonly #texts: ReadonlyArray<string>
  readonly #most: number
  /** The current text: its index, and its position and tokens so far; null before it is begun. */
  #text = 0
  #begun: { at: number; tokens: number; readonly digest: string | null } | null = null

  constructor(memory: CountMemory, owner: string, { flat, texts }: PromptTexts, most: number) {
    this.tokens = flat
    this.#memory = memory
    this.#owner = owner
    this.#texts = texts
    this.#most = most
  }

  /**
   * Counts until the turn's characters are spent or `isLate` is true. Returns whether counting is
   * finished.
   */
  turn(isLate: () => boolean): boolean {
    this.spent = 0
    while (this.#text < this.#texts.length && this.tokens + (this.#begun?.tokens ?? 0) <= this.#most) {
      if (this.spent >= TURN_CHARACTERS || (this.spent > 0 && isLate())) return false
      this.#step(this.#texts[this.#text] ?? "")
    }
    // The tokens of a text that was not counted to its end.
    this.tokens += this.#begun?.tokens ?? 0
    this.#begun = null
    return true
  }

  /** Begins a text, or counts one slice of it. */
  #step(text: string): void {
    if (this.#begun === null) {
      const digest = digestOf(this.#owner, text)
      this.spent += TEXT_CHARACTERS + (digest === null ? 0 : Math.ceil(text.length / DIGEST_CHARACTERS))
      const known = digest === null ? undefined : this.#memory.get(text, digest)
      if (known !== undefined) return this.#next(known)
      this.#begun = { at: 0, tokens: 0, digest }
      return
    }
    const begun = this.#begun
    const slice = nextSlice(text, begun.at)
    begun.tokens += countSlice(slice)
    begun.at += slice.length
    this.spent += slice.length
    if (begun.at < text.length) return
    if (begun.digest !== null) this.#memory.set(text, begun.digest, begun.tokens)
    this.#next(begun.tokens)
  }

  #next(tokens: number): void {
    this.tokens += tokens
    this.#begun = null
    this.#text++
  }
}

/** Null for a text that is too short or too long to be cached. */
const digestOf = (owner: string, text: string): string | null =>
  text.length < WORTHWHILE_CHARACTERS || text.length > HUGE_CHARACTERS
    ? null
    : hash("sha256", `${owner}\n${text}`, "base64")

/** Cached counts of texts by digest, in separate caches for short and long texts. */
export class CountMemory {
  readonly #short = new TwoGenerations<number>(MAX_CACHED)
  readonly #long = new TwoGenerations<number>(MAX_CACHED)

  get(text: string, digest: string): number | undefined {
    return this.#for(text).get(digest)
  }

  set(text: string, digest: string, tokens: number): void {
    this.#for(text).set(digest, tokens)
  }

  #for(text: string): TwoGenerations<number> {
    return text.length < LONG_CHARACTERS ? this.#short : this.#long
  }
}
