/**
 * Counts the tokens of prompts without holding the process. A short prompt is counted at once; a long one in turns, between which
 * others get theirs, and no further than anybody needs to know. Counts are remembered: a conversation comes whole with each of its
 * turns, and an application says the same instructions each time. No text is kept, and an owner's counts answer nobody else: how
 * fast a count is there would tell that a text was seen before.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { hash } from "node:crypto"
import { countSlice, type CountText, countText, nextSlice } from "./Tokens.ts"

/** In characters; what is shorter is counted as fast as it is looked up. */
const WORTHWHILE_CHARACTERS = 32
/** Texts from here on are remembered apart: short ones, which are seldom sent again, do not push them out. */
const LONG_CHARACTERS = 128
/** Longer texts are not remembered: their digest alone would take milliseconds. */
const HUGE_CHARACTERS = 524_288
export const MOST_REMEMBERED = 20_000

/** A prompt of no more characters is counted at once. */
const SHORT_CHARACTERS = 4_096
/** The most that is counted in one turn. */
export const TURN_CHARACTERS = 16_384
const TURN_NANOS = 4_000_000n
/** What a text costs beside its length, and by how much a digest is cheaper than a count: in characters. */
const TEXT_CHARACTERS = 32
const DIGEST_CHARACTERS = 16

/** What a prompt consists of. `flat`: the tokens of what is no text. */
export interface PromptTexts {
  readonly flat: number
  readonly texts: ReadonlyArray<string>
  readonly characters: number
}

/** The texts that a walk through a request would count. */
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

export class TokenCounter extends Context.Service<
  TokenCounter,
  {
    /** The tokens of a short prompt; null: it is long. */
    readonly atOnce: (owner: string, prompt: PromptTexts) => number | null
    /** The tokens of a prompt. Stops counting beyond `most`: then it is more than `most`, and less than the truth. */
    readonly count: (owner: string, prompt: PromptTexts, most?: number) => Effect.Effect<number>
  }
>()("tollgate/gateway/tokens/TokenCounter") {
  static readonly layer = Layer.effect(
    TokenCounter,
    Effect.gen(function* () {
      const memory = new CountMemory()
      const clock = yield* Clock.Clock
      /** One turn at a time, in the order in which they were asked for. */
      const turns = yield* Semaphore.make(1)

      const atOnce = (owner: string, prompt: PromptTexts): number | null =>
        prompt.characters > SHORT_CHARACTERS || prompt.texts.length * TEXT_CHARACTERS > SHORT_CHARACTERS
          ? null
          : prompt.texts.reduce((sum, text) => sum + memory.count(owner, text), prompt.flat)

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

      return TokenCounter.of({
        atOnce,
        count: (owner, prompt, most = Infinity) =>
          Effect.suspend(() => {
            const short = atOnce(owner, prompt)
            return short !== null ? Effect.succeed(short) : inTurns(new Counting(memory, owner, prompt, most))
          })
      })
    })
  )
}

/** A long prompt on its way to a number. */
export class Counting {
  tokens: number
  /** Characters counted in the last turn, digests and texts by what they cost. */
  spent = 0
  readonly #memory: CountMemory
  readonly #owner: string
  readonly #texts: ReadonlyArray<string>
  readonly #most: number
  /** The text under way: which, how far, and its tokens so far; null: it is not begun. */
  #text = 0
  #begun: { at: number; tokens: number; readonly digest: string | null } | null = null

  constructor(memory: CountMemory, owner: string, { flat, texts }: PromptTexts, most: number) {
    this.tokens = flat
    this.#memory = memory
    this.#owner = owner
    this.#texts = texts
    this.#most = most
  }

  /** Counts until the turn's characters are spent, or `isLate`. Answers whether nothing is left to count. */
  turn(isLate: () => boolean): boolean {
    this.spent = 0
    while (this.#text < this.#texts.length && this.tokens + (this.#begun?.tokens ?? 0) <= this.#most) {
      if (this.spent >= TURN_CHARACTERS || (this.spent > 0 && isLate())) return false
      this.#step(this.#texts[this.#text] ?? "")
    }
    // The text that was not counted to its end.
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

/** Null: the text is not worth remembering, or too long for it. */
const digestOf = (owner: string, text: string): string | null =>
  text.length < WORTHWHILE_CHARACTERS || text.length > HUGE_CHARACTERS
    ? null
    : hash("sha256", `${owner}\n${text}`, "base64")

/** The counts of texts by their digests, short and long ones apart. */
export class CountMemory {
  readonly #short = new Remembered()
  readonly #long = new Remembered()

  /** The tokens of a text of the owner's, such as a key by its id. */
  count(owner: string, text: string, countAnew: CountText = countText): number {
    const digest = digestOf(owner, text)
    if (digest === null) return countAnew(text)
    const known = this.get(text, digest)
    if (known !== undefined) return known
    const tokens = countAnew(text)
    this.set(text, digest, tokens)
    return tokens
  }

  get(text: string, digest: string): number | undefined {
    return this.#for(text).get(digest)
  }

  set(text: string, digest: string, tokens: number): void {
    this.#for(text).set(digest, tokens)
  }

  #for(text: string): Remembered {
    return text.length < LONG_CHARACTERS ? this.#short : this.#long
  }
}

/**
 * Counts by digest, in two halves: what is asked for goes into the young one, and when that is full the old one is forgotten as a
 * whole. Nothing is deleted from a map, which would have to be walked over again and again to find what is oldest.
 */
class Remembered {
  #young = new Map<string, number>()
  #old = new Map<string, number>()

  get(digest: string): number | undefined {
    const young = this.#young.get(digest)
    if (young !== undefined) return young
    const old = this.#old.get(digest)
    if (old !== undefined) this.set(digest, old)
    return old
  }

  set(digest: string, tokens: number): void {
    if (this.#young.size >= MOST_REMEMBERED / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(digest, tokens)
  }
}
