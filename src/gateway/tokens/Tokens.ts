/**
 * Counting tokens where no provider did: to estimate a prompt before it is sent, and to price a reply whose provider reported
 * no usage. The encoding is `o200k_base`; other models' counts differ by some per cent, which is why the record says `counted`.
 * Text is counted in slices of 512 characters, and runs of letters or symbols in smaller pieces, because byte-pair encoding goes
 * quadratic on one long run: no text costs more than some microseconds a character. A slice ends between two words where it can,
 * so that a text counts the same in whatever pieces it came; where it cannot, it counts up to three per cent too much.
 */
import { Effect } from "effect"
import type * as Tables from "gpt-tokenizer/encoding/o200k_base"
import { createRequire } from "node:module"
import { type ChatReply, type ChatRequest, type ChoiceDelta } from "../../domain/Chat.ts"
import { countMarks, countMembers, countPart } from "./PromptMembers.ts"

const require = createRequire(import.meta.url)

let loaded: typeof Tables | null = null
const load = (): typeof Tables => {
  // Required, not imported: whoever counts first must not wait for a promise.
  const tables: typeof Tables = require("gpt-tokenizer/encoding/o200k_base")
  return (loaded = tables)
}

/** Loads the tables, which takes a tenth of a second or two, before the first count has to. */
export const loadTables: Effect.Effect<void> = Effect.sync(() => void (loaded ?? load()))

/** Characters counted since the library's memory of words was emptied. */
let counted = 0
/** The library remembers up to 100,000 words and gets slow when it has to forget single ones: it is emptied before. */
const FORGET_CHARACTERS = 65_536

const countTokens = (text: string): number => {
  const tables = loaded ?? load()
  counted += text.length
  if (counted > FORGET_CHARACTERS) {
    counted = text.length
    tables.clearMergeCache()
  }
  return tables.countTokens(text, options)
}

const SLICE_CHARACTERS = 512
const HELD_CHARACTERS = 8_192
const options = { disallowedSpecial: new Set<string>() }
/** What the chat format adds to each message, and to the prompt. */
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

/** Ends where the last word ends that is whole: a token may begin with a blank, and none goes on beyond one. */
export const nextSlice = (text: string, at: number): string => {
  if (at === 0 && text.length <= SLICE_CHARACTERS) return text
  const slice = text.slice(at, at + SLICE_CHARACTERS)
  const blank = at + SLICE_CHARACTERS < text.length ? slice.lastIndexOf(" ") : -1
  return blank > SLICE_CHARACTERS / 2 && slice[blank - 1] !== " " ? slice.slice(0, blank) : slice
}

/** Longer runs of letters, or of symbols, are cut. Lines drawn with one symbol are one token up to 128 of them. */
const LETTERS = 64
const SYMBOLS = 128
const mayHaveLongRun = new RegExp(`\\S{${LETTERS + 1}}`)
const longRun = new RegExp(`[\\p{L}\\p{M}]{${LETTERS + 1},}|[^\\s\\p{L}\\p{M}\\p{N}]{${SYMBOLS + 1},}`, "gu")
/** By code points: no character is cut in two. */
const pieceOfRun = new RegExp(`[^]{1,${LETTERS}}`, "gu")

/** Counts at most 512 characters. */
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

/** The tokens of a prompt: all that goes to the provider, and the format's own overhead. `count` is `countText`, or one that remembers. */
export const countPrompt = (request: ChatRequest, count: CountText = countText): number => {
  let sum = TOKENS_PER_PROMPT
  for (const message of request.messages) {
    sum += TOKENS_PER_MESSAGE
    if (typeof message.content === "string") sum += count(message.content)
    else for (const part of message.content ?? []) sum += countPart(part, count)
    if (message.tool_calls) sum += count(JSON.stringify(message.tool_calls))
    sum += countMarks(message, count)
  }
  if (request.tools && request.tools.length > 0) sum += count(JSON.stringify(request.tools))
  return sum + countMembers(request, count)
}

export const countInputs = (input: string | ReadonlyArray<string>, count: CountText = countText): number =>
  typeof input === "string" ? count(input) : input.reduce((sum, text) => sum + count(text), 0)

/**
 * Gathers what a stream produced, so that it can be counted when the provider reports nothing, or when it breaks. It holds at
 * most `HELD_CHARACTERS`: beyond that it counts as it goes.
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
      for (const call of delta.tool_calls ?? []) {
        if (call.function?.name) this.#push(call.function.name)
        if (call.function?.arguments) this.#push(call.function.arguments)
      }
    }
  }

  count(): number {
    this.#fold()
    return this.#counted
  }

  /** What `count` would say, without changing how it goes on. */
  peek(): number {
    return this.#counted + countText(this.#text.join(""))
  }

  /** No less than `count` would say, and cheaper: a token is at least a byte. */
  bound(): number {
    return this.#counted + 3 * this.#held
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

/** Of a text that comes all at once more is not counted: the rest has as many tokens for its length. */
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
    if (message.tool_calls) {
      for (const call of message.tool_calls) count += countLong(JSON.stringify(call["function"] ?? call))
    }
  }
  return count
}
