/**
 * Counts tokens when no provider did: to estimate a prompt before it is sent, and to price a reply
 * without reported usage. The encoding is `o200k_base`. Counts of other models differ by some per
 * cent, so records mark such usage as `counted`.
 *
 * Text is counted in slices of 512 characters, and long runs of letters or symbols in smaller
 * pieces, because byte-pair encoding takes quadratic time on one long run. So a text takes at most
 * some microseconds per character. A slice ends between two words if possible, which makes the
 * count independent of how a stream is split. Otherwise it is up to three per cent too high.
 */
import { Effect, Predicate } from "effect"
import type * as Tables from "gpt-tokenizer/encoding/o200k_base"
import { createRequire } from "node:module"
import { type ChatReply, type ChatRequest, type ChoiceDelta } from "../../domain/Chat.ts"
import { type EmbeddingInput, inputsOf } from "../../domain/Embedding.ts"
import { countMembers, countMessageMembers, countPart } from "./PromptMembers.ts"

const require = createRequire(import.meta.url)

let loaded: typeof Tables | null = null
const load = (): typeof Tables => {
  // `require` instead of `import`, because a count must not wait for a promise.
  const tables: typeof Tables = require("gpt-tokenizer/encoding/o200k_base")
  return (loaded = tables)
}

/**
 * Loads the tables, which take 20 MiB and 0.1 to 0.2 s: in two turns, between which other requests
 * are served. A count that does not wait for them loads them in one turn.
 */
export const loadTables: Effect.Effect<void> = Effect.suspend(() => {
  if (loaded !== null) return Effect.void
  require("gpt-tokenizer/cjs/bpeRanks/o200k_base")
  return Effect.andThen(
    Effect.yieldNow,
    Effect.sync(() => void (loaded ?? load()))
  )
})

/** Characters counted since the library's cache was cleared. */
let counted = 0
/**
 * The library caches up to 100,000 words and becomes slow when it evicts single ones, so its cache
 * is cleared earlier.
 */
const CLEAR_CHARACTERS = 65_536

const countTokens = (text: string): number => {
  const tables = loaded ?? load()
  counted += text.length
  if (counted > CLEAR_CHARACTERS) {
    counted = text.length
    tables.clearMergeCache()
  }
  return tables.countTokens(text, options)
}

export const SLICE_CHARACTERS = 512
const HELD_CHARACTERS = 8_192
const options = { disallowedSpecial: new Set<string>() }
/** Overhead of the chat format, per message and per prompt. */
const TOKENS_PER_MESSAGE = 3
const TOKENS_PER_PROMPT = 3

export const countText = (text: string): number => {
  let [at, count] = [0, 0]
  while (at < text.length) {
    const slice = nextSlice(text, at)
    count += countSlice(slice)
    at += slice.length
  }
  return count
}

/**
 * A slice ends after the last whole word. A token may begin with spaces, and none extends from a
 * word into them.
 */
export const nextSlice = (text: string, at: number): string => {
  if (at === 0 && text.length <= SLICE_CHARACTERS) return text
  const slice = text.slice(at, at + SLICE_CHARACTERS)
  let space = at + SLICE_CHARACTERS < text.length ? slice.lastIndexOf(" ") : -1
  while (space > 0 && slice[space - 1] === " ") space--
  return space > SLICE_CHARACTERS / 2 ? slice.slice(0, space) : slice
}

/**
 * Longer runs of letters or symbols are split. A line drawn with one symbol is one token up to 128
 * symbols.
 */
export const LETTERS = 64
const SYMBOLS = 128
const mayHaveLongRun = new RegExp(`\\S{${LETTERS + 1}}`)
const longRun = new RegExp(`[\\p{L}\\p{M}]{${LETTERS + 1},}|[^\\s\\p{L}\\p{M}\\p{N}]{${SYMBOLS + 1},}`, "gu")
/** Matches code points, so that no character is split. */
const pieceOfRun = new RegExp(`[^]{1,${LETTERS}}`, "gu")

/** Counts a slice of at most 512 characters. */
export const countSlice = (slice: string): number => {
  if (slice === "") return 0
  if (slice.length <= LETTERS || !mayHaveLongRun.test(slice)) return countTokens(slice)
  let [at, count] = [0, 0]
  for (const { 0: run, index } of slice.matchAll(longRun)) {
    if (index > at) count += countTokens(slice.slice(at, index))
    for (const piece of run.match(pieceOfRun) ?? []) count += countTokens(piece)
    at = index + run.length
  }
  return at < slice.length ? count + countTokens(slice.slice(at)) : count
}

export type CountText = (text: string) => number

/**
 * The tokens of a prompt: everything sent to the provider, and the overhead of the format. `count`
 * is `countText` or a cached version of it.
 */
export const countPrompt = (request: ChatRequest, count: CountText = countText): number => {
  let sum = TOKENS_PER_PROMPT
  for (const message of request.messages) {
    sum += TOKENS_PER_MESSAGE
    if (typeof message.content === "string") sum += count(message.content)
    else for (const part of message.content ?? []) sum += countPart(part, count)
    if (message.tool_calls) sum += count(JSON.stringify(message.tool_calls))
    sum += countMessageMembers(message, count)
  }
  if (request.tools && request.tools.length > 0) sum += count(JSON.stringify(request.tools))
  return sum + countMembers(request, count)
}

/** Token ids count as they are. */
export const countInputs = (input: EmbeddingInput, count: CountText = countText): number =>
  inputsOf(input).reduce((sum, one) => sum + (typeof one === "string" ? count(one) : one.length), 0)

/**
 * Collects the output of a stream, so that it can be counted when the provider reports no usage or
 * the stream breaks. It buffers at most `HELD_CHARACTERS` and counts the rest as it arrives.
 */
export class OutputCounter {
  #text: Array<string> = []
  #held = 0
  #counted = 0

  add(choices: ReadonlyArray<ChoiceDelta>): void {
    for (const { delta } of choices) {
      if (typeof delta.content === "string") this.#push(delta.content)
      if (typeof delta.reasoning === "string") this.#push(delta.reasoning)
      if (typeof delta.refusal === "string") this.#push(delta.refusal)
      for (const { custom, function: called } of delta.tool_calls ?? []) {
        this.#pushTexts(called)
        this.#pushTexts(custom)
      }
      this.#pushTexts(delta["function_call"])
      this.#pushTexts(delta["audio"])
    }
  }

  count(): number {
    this.#fold()
    return this.#counted
  }

  /** The result of `count` without changing the state. */
  peek(): number {
    return this.#counted + countText(this.#text.join(""))
  }

  /** An upper bound of `count` that is cheaper: a token has at least one byte. */
  bound(): number {
    return this.#counted + 3 * this.#held
  }

  /** The texts of a call or of a spoken answer. */
  #pushTexts(member: unknown): void {
    if (member !== undefined) for (const text of writtenTexts(member)) this.#push(text)
  }

  #push(text: string): void {
    this.#text.push(text)
    this.#held += text.length
    if (this.#held > HELD_CHARACTERS) this.#fold()
  }

  #fold(): void {
    this.#counted += countText(this.#text.join(""))
    this.#text = []
    this.#held = 0
  }
}

/** What a model wrote of a call or a spoken answer. */
const writtenTexts = (member: unknown): ReadonlyArray<string> =>
  Predicate.isObject(member)
    ? [member["name"], member["arguments"], member["input"], member["transcript"]].filter(
        (text) => typeof text === "string"
      )
    : []

/** Of a long whole text, only this much is counted; the rest is extrapolated by length. */
const COUNTED_CHARACTERS = 131_072

const countLong = (text: string): number =>
  text.length <= COUNTED_CHARACTERS
    ? countText(text)
    : Math.ceil((countText(text.slice(0, COUNTED_CHARACTERS)) * text.length) / COUNTED_CHARACTERS)

export const countReply = (reply: ChatReply): number => {
  let count = 0
  for (const { message } of reply.choices) {
    if (message.content) count += countLong(message.content)
    if (message.reasoning) count += countLong(message.reasoning)
    if (message.refusal) count += countLong(message.refusal)
    for (const member of [message["function_call"], message["audio"]]) {
      for (const text of writtenTexts(member)) count += countLong(text)
    }
    if (message.tool_calls) {
      for (const call of message.tool_calls) count += countLong(JSON.stringify(call["function"] ?? call))
    }
  }
  return count
}
