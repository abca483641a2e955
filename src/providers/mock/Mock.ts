/**
 * The mock provider: deterministic models without a key or a network, to try the gateway and to
 * rehearse failures.
 *
 * `echo` repeats the last user message. `lorem` writes as many words as the output limit allows.
 * `embed` derives unit vectors from a hash of the text. Tokens are counted with `o200k_base`, word
 * by word, so limits and usage can be checked by hand. `metadata.mock` gives latency, speed,
 * failures and usage. Time is taken from `Clock`.
 */
import { type NonEmptyReadonlyArray } from "effect/Array"
import { Cause, Duration, Effect, Option, type Pull, Schema } from "effect"
import { Batches } from "../../domain/runtime/Batches.ts"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { type ChatEvent, type ChatRequest } from "../../domain/Chat.ts"
import { textsOf } from "../../domain/Embedding.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { embedTexts } from "./Embedding.ts"
import { compose, countInputs, countPrompt } from "./Text.ts"
import { reportedUsage } from "../wire/Usage.ts"
import {
  type ChatCall,
  Cut,
  Malformed,
  type Provider,
  ProviderError,
  type ProviderReason,
  Rejected,
  ServerFault,
  Throttled,
  TimedOut,
  Unsupported
} from "../Provider.ts"

const EMBEDDING_DIMENSIONS = 256
/** Above the dimensions of any real model. */
const MOST_DIMENSIONS = 16_384
/** Numbers in one reply, over all its vectors: 2,048 texts of 1,024 dimensions. */
const MOST_NUMBERS = 2_097_152
const CUT_AFTER_TOKENS = 3

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

const Directives = Schema.Struct({
  /** Delay before the first token, in ms. */
  latency_ms: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 3_600_000 }))),
  tokens_per_second: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  fail: Schema.optionalKey(Schema.Literals([429, 500, "429", "500", "timeout", "cut", "malformed"])),
  /** Tokens sent before the failure. Default: 0, and 3 for `cut`. */
  after_tokens: Schema.optionalKey(Count),
  /** Usage to report beside the counted tokens: parts of the prompt and of the reply, and calls. */
  usage: Schema.optionalKey(
    Schema.Struct({
      cached_tokens: Schema.optionalKey(Count),
      cache_write_tokens: Schema.optionalKey(Count),
      cache_write_1h_tokens: Schema.optionalKey(Count),
      prompt_audio_tokens: Schema.optionalKey(Count),
      completion_audio_tokens: Schema.optionalKey(Count),
      web_search_requests: Schema.optionalKey(Count),
      service_tier: Schema.optionalKey(Schema.String)
    })
  )
})
type Directives = typeof Directives.Type
const decodeDirectives = Schema.decodeUnknownOption(Directives)

const failures = { 429: 429, 500: 500, timeout: "timeout", cut: "cut", malformed: "malformed" } as const

export const makeMock = (config: ProviderConfig): Provider => {
  const fault = (reason: ProviderReason) => new ProviderError({ provider: config.slug, reason })

  const failureOf = (fail: NonNullable<Directives["fail"]>, produced: number): Effect.Effect<never, ProviderReason> => {
    switch (failures[fail]) {
      case 429:
        return Effect.fail(new Throttled({ status: 429, retryAfterMs: 1_000 }))
      case 500:
        return Effect.fail(new ServerFault({ status: 500, retryAfterMs: null }))
      case "cut":
        return Effect.fail(new Cut({ detail: "asked for by metadata.mock" }))
      case "malformed":
        return Effect.fail(new Malformed({ detail: "asked for by metadata.mock" }))
      case "timeout": {
        const [phase, limitMs] =
          produced === 0
            ? (["first_token", config.timeouts.firstTokenMs] as const)
            : (["idle", config.timeouts.idleMs] as const)
        return Effect.andThen(Effect.sleep(Duration.millis(limitMs)), Effect.fail(new TimedOut({ phase })))
      }
    }
  }

  /** Composes the reply, after the latency asked for. */
  const begin = Effect.fnUntraced(function* ({ offer, request }: ChatCall) {
    const directives = yield* directivesOf(request)
    if (offer.upstream !== "echo" && offer.upstream !== "lorem") {
      return yield* Effect.fail(new Unsupported({ param: "model", message: `${offer.id} does not chat` }))
    }
    if (directives.latency_ms !== undefined) yield* Effect.sleep(Duration.millis(directives.latency_ms))
    const composition = yield* compose(offer.upstream, request)
    const { after_tokens, fail } = directives
    const failsAfter =
      fail === undefined ? Number.POSITIVE_INFINITY : (after_tokens ?? (fail === "cut" ? CUT_AFTER_TOKENS : 0))
    if (fail !== undefined && failsAfter === 0) return yield* failureOf(fail, 0)
    const choices = request.n ?? 1
    const promptTokens = yield* countPrompt(request)
    const usage = usageOf(directives, promptTokens, composition.tokens * choices)
    return { directives, composition, choices, usage, prompt: usageOf(directives, promptTokens, 0), fail, failsAfter }
  })

  const events = ({
    choices,
    composition,
    directives,
    fail,
    failsAfter,
    usage
  }: Effect.Success<ReturnType<typeof begin>>) => {
    const { finishReason, words } = composition
    let at = 0
    let produced = 0
    let over = false
    const pull = Effect.suspend((): Pull.Pull<NonEmptyReadonlyArray<ChatEvent>, ProviderReason> => {
      if (over) return Cause.done()
      // A text that ends before `failsAfter` fails at its end: the directive always takes effect.
      if (fail !== undefined && (produced >= failsAfter || at >= words.length)) return failureOf(fail, produced)
      const word = words[at]
      if (word === undefined) {
        over = true
        return Effect.succeed([
          choicesOf(choices, at === 0 ? { role: "assistant", content: "" } : {}, finishReason),
          { _tag: "End", usage, systemFingerprint: "mock" }
        ])
      }
      const event = choicesOf(
        choices,
        at === 0 ? { role: "assistant", content: word.text } : { content: word.text },
        null
      )
      const pauseMs = at === 0 ? 0 : pace(directives, word.tokens)
      at++
      produced += word.tokens
      return pauseMs === 0 ? Effect.succeed([event]) : Effect.as(Effect.sleep(Duration.millis(pauseMs)), [event])
    })
    return pull
  }

  return {
    config,
    chat: (call) =>
      begin(call).pipe(
        Effect.tap(({ composition, directives, fail, failsAfter }) => {
          const produced = Math.min(failsAfter, composition.tokens)
          const pauseMs = pace(directives, Math.max(0, produced - (composition.words[0]?.tokens ?? 0)))
          const wait = pauseMs === 0 ? Effect.void : Effect.sleep(Duration.millis(pauseMs))
          return fail === undefined ? wait : Effect.andThen(wait, failureOf(fail, 0))
        }),
        Effect.map(({ choices, composition, usage }) => ({
          choices: Array.from({ length: choices }, (_, index) => ({
            index,
            message: { role: "assistant" as const, content: composition.words.map((word) => word.text).join("") },
            finish_reason: composition.finishReason
          })),
          usage,
          systemFingerprint: "mock"
        })),
        Effect.mapError(fault)
      ),
    chatStream: (call) =>
      begin(call).pipe(
        Effect.tap(({ prompt }) => {
          if (prompt !== null) call.promptUsage?.(prompt)
          return Effect.void
        }),
        Effect.map((begun) =>
          Batches.fromPull(Effect.mapError(events(begun), (reason) => (Cause.isDone(reason) ? reason : fault(reason))))
        ),
        Effect.mapError(fault)
      ),
    embed: Effect.fnUntraced(function* ({ offer, request }) {
      if (offer.upstream !== "embed") {
        return yield* Effect.fail(new Unsupported({ param: "model", message: `${offer.id} does not embed` }))
      }
      const inputs = textsOf(request.input)
      const dimensions = request.dimensions ?? EMBEDDING_DIMENSIONS
      if (dimensions > MOST_DIMENSIONS) {
        return yield* Effect.fail(tooLarge("dimensions", `dimensions is at most ${MOST_DIMENSIONS} here`))
      }
      if (inputs.length * dimensions > MOST_NUMBERS) {
        return yield* Effect.fail(tooLarge("input", `input times dimensions is at most ${MOST_NUMBERS} here`))
      }
      return {
        vectors: yield* embedTexts(inputs, dimensions),
        usage: { promptTokens: yield* countInputs(inputs), completionTokens: 0, cachedTokens: 0 }
      }
    }, Effect.mapError(fault))
  }
}

/** The counted tokens, and the parts of them that the directives name. */
const usageOf = ({ usage: named = {} }: Directives, prompt: number, completion: number): TokenUsage | null =>
  reportedUsage({
    prompt,
    completion,
    cached: named.cached_tokens ?? 0,
    rare: {
      cache_write: named.cache_write_tokens ?? 0,
      cache_write_1h: named.cache_write_1h_tokens ?? 0,
      prompt_audio: named.prompt_audio_tokens ?? 0,
      completion_audio: named.completion_audio_tokens ?? 0,
      web_search: named.web_search_requests ?? 0
    },
    tier: named.service_tier
  })

const tooLarge = (param: string, message: string) =>
  new Rejected({ status: 400, message, param, code: null, contextLength: false })

const pace = ({ tokens_per_second: rate }: Directives, tokens: number): number =>
  rate === undefined ? 0 : (tokens * 1000) / rate

const choicesOf = (
  count: number,
  delta: { readonly role?: string; readonly content?: string },
  finish_reason: string | null
): ChatEvent => ({
  _tag: "Choices",
  choices: Array.from({ length: count }, (_, index) => ({ index, delta, finish_reason }))
})

/** Invalid directives reject the request. Ignoring them would silently rehearse nothing. */
const directivesOf = ({ metadata }: ChatRequest): Effect.Effect<Directives, ProviderReason> => {
  const mock = metadata?.["mock"]
  if (mock === undefined || mock === null) return Effect.succeed({})
  return Option.match(decodeDirectives(mock), {
    onNone: () =>
      Effect.fail(
        new Rejected({
          status: 400,
          message:
            'metadata.mock takes latency_ms, tokens_per_second, fail (429, 500, "timeout", "cut", "malformed"), after_tokens and usage',
          param: "metadata.mock",
          code: "invalid_mock_directive",
          contextLength: false
        })
      ),
    onSome: Effect.succeed
  })
}
