/** The texts of the mock's chat models, word by word, with their token counts. */
import { Effect } from "effect"
import type * as Tables from "gpt-tokenizer/encoding/o200k_base"
import { createRequire } from "node:module"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"

/** A word with the whitespace before it, and its tokens. */
export interface Word {
  readonly text: string
  readonly tokens: number
}

export interface Composition {
  readonly words: ReadonlyArray<Word>
  readonly tokens: number
  readonly finishReason: "stop" | "length"
}

const LOREM_DEFAULT_WORDS = 64
/** Output limit of the mock's models, in tokens. */
export const MOCK_OUTPUT_LIMIT = 16_384
/**
 * Longest echoed text, in UTF-16 code units. Text with words reaches the output limit before it.
 */
const ECHO_CHARACTERS = 131_072
/** UTF-16 code units counted exactly in one request. The rest is extrapolated. */
const COUNTED_CHARACTERS = 1_048_576
/** Words of one token each, so that a limit of n tokens gives n words. */
const LOREM = (
  "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua ut " +
  "enim ad minim veniam quis exercitation laboris nisi ut ex ea commodo consequat aute dolor in reprehenderit in voluptate velit"
).split(" ")

/**
 * Exact tokenizers take quadratic time on one long run of characters, so text is counted in slices.
 */
const SLICE_CHARACTERS = 512
/**
 * UTF-16 code units counted before yielding to other fibers: milliseconds, for letters without a
 * blank.
 */
const TURN_CHARACTERS = 1_024
const options = { disallowedSpecial: new Set<string>() }
const TOKENS_PER_MESSAGE = 3
const TOKENS_PER_PROMPT = 3

/** Counts the tokens of a text of any length. Yields to other fibers in between. */
type Count = (text: string) => Effect.Effect<number>

const require = createRequire(import.meta.url)

/**
 * Loads the tokenizer, a table of megabytes, on the first call. `require` shares the module with
 * the gateway, which has usually loaded it already.
 */
const tokenizer: Effect.Effect<Count> = Effect.map(
  Effect.sync((): typeof Tables => require("gpt-tokenizer/encoding/o200k_base")),
  ({ countTokens }) => {
    let spent = 0
    return Effect.fnUntraced(function* (text) {
      let count = 0
      for (let at = 0; at < text.length; at += SLICE_CHARACTERS) {
        const slice = text.slice(at, at + SLICE_CHARACTERS)
        count += countTokens(slice, options)
        spent += slice.length
        if (spent < TURN_CHARACTERS) continue
        spent = 0
        yield* Effect.yieldNow
      }
      return count
    })
  }
)

/** The reply of `model` to `request`. Honours `stop` and the output limit. */
export const compose: (model: "echo" | "lorem", request: ChatRequest) => Effect.Effect<Composition> = Effect.fnUntraced(
  function* (model, request) {
    const count = yield* tokenizer
    const limit = Math.min(outputLimit(request) ?? MOCK_OUTPUT_LIMIT, MOCK_OUTPUT_LIMIT)
    const loremWords = outputLimit(request) === null ? LOREM_DEFAULT_WORDS : limit
    const whole = model === "echo" ? echo(request) : lorem(loremWords)
    const repeated = whole.slice(0, ECHO_CHARACTERS)
    const text = untilStop(repeated, [request.stop ?? []].flat())
    const words: Array<Word> = []
    let tokens = 0
    for (const piece of text.match(/\s*\S+|\s+$/gu) ?? []) {
      const word = { text: piece, tokens: yield* count(piece) }
      if (tokens + word.tokens > limit) return { words, tokens, finishReason: "length" }
      words.push(word)
      tokens += word.tokens
    }
    // Lorem ipsum has no end of its own: with an output limit it ends by "length".
    const isCut = model === "lorem" ? outputLimit(request) !== null : whole.length > repeated.length
    const cutByLimit = isCut && text === repeated
    return { words, tokens, finishReason: cutByLimit ? "length" : "stop" }
  }
)

/** Tokens of the prompt: its text, and the overhead of the chat format for each message. */
export const countPrompt = (request: ChatRequest): Effect.Effect<number> =>
  Effect.map(
    countInputs(request.messages.map(({ content }) => textOf(content))),
    (tokens) => tokens + TOKENS_PER_MESSAGE * request.messages.length + TOKENS_PER_PROMPT
  )

export const countInputs: (inputs: ReadonlyArray<string>) => Effect.Effect<number> = Effect.fnUntraced(
  function* (inputs) {
    const count = yield* tokenizer
    let [tokens, characters, counted] = [0, 0, 0]
    for (const input of inputs) {
      const part = input.slice(0, COUNTED_CHARACTERS - counted)
      tokens += yield* count(part)
      counted += part.length
      characters += input.length
    }
    return characters === counted ? tokens : Math.ceil((tokens * characters) / counted)
  }
)

const lorem = (words: number): string =>
  Array.from({ length: words }, (_, at) => (at === 0 ? "Lorem" : LOREM[at % LOREM.length])).join(" ")

/**
 * The last user message. If the last message is an assistant message that is a prefix of it, the
 * rest after that prefix.
 */
const echo = ({ messages }: ChatRequest): string => {
  const text = textOf((messages.findLast((message) => message.role === "user") ?? messages.at(-1))?.content)
  const last = messages.at(-1)
  const begun = last?.role === "assistant" ? textOf(last.content) : ""
  return text.startsWith(begun) ? text.slice(begun.length) : text
}

const textOf = (content: ChatRequest["messages"][number]["content"]): string => {
  if (content === undefined || content === null) return ""
  if (typeof content === "string") return content
  return content.map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("")
}

const untilStop = (text: string, stops: ReadonlyArray<string>): string => {
  const ends = stops.map((stop) => (stop === "" ? -1 : text.indexOf(stop))).filter((at) => at >= 0)
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends))
}
