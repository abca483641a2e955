/**
 * Providers that report the usage of the prompt when a stream begins tell it at once, without
 * output, and once.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type ChatRequest } from "../../src/domain/Chat.ts"
import { type TokenUsage } from "../../src/domain/pricing/Money.ts"
import { makeAnthropic } from "../../src/providers/anthropic/Anthropic.ts"
import { makeGemini } from "../../src/providers/gemini/Gemini.ts"
import { makeMock } from "../../src/providers/mock/Mock.ts"
import { mockProvider } from "../../src/providers/presets/Mock.ts"
import { type Provider } from "../../src/providers/Provider.ts"
import { sse } from "../support/upstream/Bodies.ts"
import { config, fixture, offer, replay } from "./replayedTransport.ts"

const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "one two" }], stream: true }

/** What is told of the prompt until the first event, and until the end. */
const told = Effect.fnUntraced(function* (provider: Provider, more: Partial<ChatRequest> = {}, model = offer) {
  const usages: Array<TokenUsage> = []
  const call = {
    request: { ...request, ...more },
    offer: model,
    promptUsage: (usage: TokenUsage) => void usages.push(usage)
  }
  const lengths: Array<number> = []
  yield* Effect.flatMap(provider.chatStream(call), (events) =>
    Stream.runForEach(events.stream, () => Effect.sync(() => void lengths.push(usages.length)))
  ).pipe(Effect.scoped, Effect.ignore)
  return { first: lengths[0], usages }
})

const anthropic = (...chunks: ReadonlyArray<Buffer | string>) =>
  makeAnthropic(config(), replay({ chunks: chunks.map((chunk) => Buffer.from(chunk)) }))
const gemini = (...chunks: ReadonlyArray<Buffer | string>) =>
  makeGemini(
    config({ slug: "gemini", dialect: "gemini" }),
    replay({ chunks: chunks.map((chunk) => Buffer.from(chunk)) })
  )

it.effect("Anthropic: with its first event", () =>
  Effect.gen(function* () {
    const prompt = { promptTokens: 1_969, completionTokens: 0, cachedTokens: 1_760, rare: { cache_write: 188 } }
    const whole = yield* told(anthropic(fixture("anthropic-stream-cache.sse")))
    assert.deepStrictEqual(whole, { first: 1, usages: [prompt] })
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
      inference_geo: "us",
      output_tokens: 4
    }
    const cut = yield* told(anthropic(sse({ type: "message_start", message: { id: "msg_1", usage } })))
    assert.deepStrictEqual(cut.usages, [
      {
        promptTokens: 140,
        completionTokens: 0,
        cachedTokens: 100,
        rare: { cache_write: 20, cache_write_1h: 10 },
        serviceTier: "us"
      }
    ])
    const untold = yield* told(anthropic(sse({ type: "message_start", message: { id: "msg_1" } })))
    assert.isEmpty(untold.usages)
  })
)

it.effect("Gemini: with the first event that has usage", () =>
  Effect.gen(function* () {
    const whole = yield* told(gemini(fixture("gemini-stream-text.sse")))
    assert.deepStrictEqual(whole, {
      first: 1,
      usages: [{ promptTokens: 19, completionTokens: 0, cachedTokens: 0 }]
    })
    const usageMetadata = {
      promptTokenCount: 1_000,
      cachedContentTokenCount: 900,
      promptTokensDetails: [{ modality: "AUDIO", tokenCount: 50 }],
      candidatesTokenCount: 3,
      thoughtsTokenCount: 8,
      candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 3 }]
    }
    const candidates = [{ content: { parts: [{ text: "a" }] }, index: 0 }]
    const cut = yield* told(gemini(sse({ candidates, usageMetadata: {} }), sse({ candidates, usageMetadata })))
    assert.deepStrictEqual(cut.usages, [
      { promptTokens: 1_000, completionTokens: 0, cachedTokens: 900, rare: { prompt_audio: 50 } }
    ])
  })
)

it.effect("the mock: what its directives say of the prompt", () =>
  Effect.gen(function* () {
    const usage = { cached_tokens: 2, cache_write_tokens: 1, completion_audio_tokens: 1 }
    const metadata = { mock: { fail: "cut", after_tokens: 1, usage } }
    const echo = mockProvider.models.find(({ id }) => id === "mock/echo") ?? offer
    const { first, usages } = yield* told(makeMock(mockProvider), { model: "mock/echo", metadata }, echo)
    assert.strictEqual(first, 1)
    assert.lengthOf(usages, 1)
    assert.deepInclude(usages[0], { completionTokens: 0, cachedTokens: 2, rare: { cache_write: 1 } })
    assert.isAbove(usages[0]?.promptTokens ?? 0, 2)
  })
)
