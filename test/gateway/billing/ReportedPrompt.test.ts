/**
 * Calls without an end whose provider reported the usage of the prompt before: the prompt is
 * charged as reported, and the output is counted.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ModelOffer } from "../../../src/domain/Catalog.ts"
import { type UsageSource } from "../../../src/domain/Generation.ts"
import { type TokenUsage } from "../../../src/domain/pricing/Money.ts"
import { Cut, ServerFault } from "../../../src/providers/Provider.ts"
import { defaultSettings } from "../../../src/Settings.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { keyWith } from "../plans.ts"
import { ending, piece, stop } from "../scripts.ts"
import { begun, gatewayOn, recordOf, streamed } from "../streams.ts"

/** In USD a million tokens: 3 and 15, 0.30 from the cache, 3.75 into it. */
const offer: Partial<ModelOffer> = {
  pricing: { prompt: 3_000_000, completion: 15_000_000, cachedPrompt: 300_000, rare: { cache_write: 3_750_000 } }
}
const promptUsage: TokenUsage = {
  promptTokens: 1_000,
  completionTokens: 0,
  cachedTokens: 700,
  rare: { cache_write: 200 }
}
/** 100 x 3 + 700 x 0.30 + 200 x 3.75, and 3 x 15. */
const PROMPT_NANO = 300_000 + 210_000 + 750_000
const OUTPUT_NANO = 45_000
/** The gateway counts 7 tokens. */
const COUNTED_NANO = 21_000
const cut = new Cut({ detail: "reset" })
const words = piece("one two three")
const with3 = { ...promptUsage, completionTokens: 3 }

/** Lets virtual time pass until the answer has ended. */
const inTime = Effect.fnUntraced(function* (ms: number) {
  const client = yield* Effect.forkChild(streamed(), { startImmediately: true })
  yield* TestClock.adjust(ms)
  return yield* Fiber.join(client)
})

/** The generation of a client that left after a second. */
const left = Effect.gen(function* () {
  const asking = Effect.scoped(Effect.flatMap(begun({}), ({ events }) => Stream.runDrain(events.stream)))
  const client = yield* Effect.forkChild(asking, { startImmediately: true })
  yield* TestClock.adjust(1_000)
  const leaving = yield* Effect.forkChild(Fiber.interrupt(client), { startImmediately: true })
  yield* TestClock.adjust(5_000)
  yield* Fiber.join(leaving)
  const { generations } = yield* (yield* GenerationStore).list({ keyId: keyWith().id, limit: 1, cursor: null })
  return yield* recordOf(generations[0]?.id ?? "")
})

describe("the client leaves", () => {
  it.effect.each<readonly [string, Script, Partial<ModelOffer>, number, number, UsageSource]>([
    ["in the middle", { promptUsage, events: [words, 60_000] }, {}, 3, PROMPT_NANO + OUTPUT_NANO, "counted"],
    ["before the first token", { promptUsage, hangs: true }, {}, 0, PROMPT_NANO, "counted"],
    [
      "an answer that cannot be counted",
      { promptUsage, events: [words, 60_000, 60_000] },
      { hidesReasoning: true },
      1_200,
      PROMPT_NANO + 1_200 * 15_000,
      "estimated"
    ]
  ])("%s", ([, alpha, more, completionTokens, billedNano, usageSource]) =>
    Effect.gen(function* () {
      const record = yield* left
      assert.deepInclude(record, { usage: { ...promptUsage, completionTokens }, usageSource, cancelled: true })
      assert.strictEqual(record.cost.billedNano, billedNano)
    }).pipe(Effect.provide(gatewayOn({ alpha }, { offer: { ...offer, ...more } }).layer))
  )
})

describe("the stream", () => {
  const counted = { promptTokens: 7, completionTokens: 3, cachedTokens: 0 }
  const far = { promptTokens: 513_025, completionTokens: 0, cachedTokens: 513_025 }
  const none = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }
  const final = { promptTokens: 1_001, completionTokens: 5, cachedTokens: 1_000 }
  const excessive = { ...final, completionTokens: 1e6 }
  it.effect.each<readonly [string, Script, TokenUsage, UsageSource]>([
    ["is cut", { promptUsage, events: [words, cut] }, with3, "counted"],
    ["ends without usage", { promptUsage, events: [words, stop, ending(null)] }, with3, "counted"],
    ["ends with usage, which counts", { promptUsage, events: [words, stop, ending(final)] }, final, "provider"],
    [
      "ends with impossible usage, which is rejected as a whole",
      { promptUsage, events: [words, stop, ending(excessive)] },
      counted,
      "counted"
    ],
    ["is cut after an impossible prompt", { promptUsage: far, events: [words, cut] }, counted, "counted"],
    ["is cut after a prompt of zero tokens", { promptUsage: none, events: [words, cut] }, counted, "counted"]
  ])("%s", ([, alpha, usage, usageSource]) =>
    Effect.gen(function* () {
      const { record } = yield* streamed()
      assert.deepInclude(record, { usage, usageSource })
    }).pipe(Effect.provide(gatewayOn({ alpha }, { offer }).layer))
  )
})

it.effect("a retry is charged what its own call reported", () => {
  const failure = new ServerFault({ status: 500, retryAfterMs: null })
  const { layer } = gatewayOn(
    { alpha: [{ promptUsage, events: [failure] }, { events: [words, cut] }] },
    { offer, settings: { routing: { ...defaultSettings.routing, retries: 1 } } }
  )
  return Effect.gen(function* () {
    const { record } = yield* inTime(60_000)
    assert.lengthOf(record.attempts, 2)
    assert.strictEqual(record.cost.billedNano, COUNTED_NANO + OUTPUT_NANO)
  }).pipe(Effect.provide(layer))
})

it.effect("each part of a continued stream is charged what its provider reported", () => {
  const { layer } = gatewayOn(
    { alpha: { promptUsage, events: [words, cut] }, beta: { promptUsage, events: [piece(" four"), cut] } },
    { offer }
  )
  return Effect.gen(function* () {
    const { record } = yield* streamed()
    assert.deepStrictEqual(record.attempts[0]?.charge, { usage: with3, totalNano: PROMPT_NANO + OUTPUT_NANO })
    assert.deepStrictEqual(record.usage, {
      promptTokens: 2_000,
      completionTokens: 4,
      cachedTokens: 1_400,
      rare: { cache_write: 400 }
    })
    assert.strictEqual(record.cost.billedNano, 2 * PROMPT_NANO + 4 * 15_000)
  }).pipe(Effect.provide(layer))
})

it.effect("the slower of two hedged calls is charged the prompt that its provider reported", () => {
  const { layer } = gatewayOn(
    { alpha: { promptUsage, hangs: true }, beta: { events: [words, stop, ending()] } },
    { offer, settings: { routing: { ...defaultSettings.routing, retries: 0, hedgeAfterMs: 500 } } }
  )
  return Effect.gen(function* () {
    const { record } = yield* inTime(600)
    const lost = record.attempts.find(({ errorType }) => errorType === "hedge_lost")
    assert.deepStrictEqual(lost?.charge, { usage: promptUsage, totalNano: PROMPT_NANO })
  }).pipe(Effect.provide(layer))
})
