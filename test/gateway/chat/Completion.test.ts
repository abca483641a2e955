/**
 * The whole flow below the edge, in memory: outcomes and their costs, stored answers, one upstream
 * call for many requests.
 */
import * as CacheMemory from "../../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Option, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ModelOffer } from "../../../src/domain/Catalog.ts"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { type KeyRecord } from "../../../src/domain/Key.ts"
import { nanoFromUsd } from "../../../src/domain/pricing/Money.ts"
import { type CompletionEvent } from "../../../src/gateway/request/Answer.ts"
import { Completion } from "../../../src/gateway/chat/Completion.ts"
import { type CacheControl } from "../../../src/gateway/request/CacheControl.ts"
import { MetadataRecorder } from "../../../src/gateway/request/ResponseMetadata.ts"
import { Cut, Rejected } from "../../../src/providers/Provider.ts"
import { type Script, scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { gateway, memory } from "../../../src/Server.ts"
import { type SettingsShape } from "../../../src/Settings.ts"
import { LedgerReports } from "../../../src/store/ledger/reports/LedgerReports.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { testSettings } from "../../support/testSettings.ts"
import { keyWith, requestWith } from "../plans.ts"
import { ending, piece, saying, scripted, stop } from "../scripts.ts"

const noRetries = { ...testSettings.routing, retries: 0 }

const gatewayOn = (
  scripts: Readonly<Record<string, Script | ReadonlyArray<Script>>>,
  { offer, settings }: { readonly offer?: Partial<ModelOffer>; readonly settings?: Partial<SettingsShape> } = {}
) => {
  const { heard, layer: providers } = scripted(scripts, offer === undefined ? {} : { offer })
  const whole = { ...testSettings, routing: noRetries, ...settings }
  const layer = gateway(whole).pipe(
    Layer.provideMerge(Layer.mergeAll(providers, memory)),
    Layer.provideMerge(
      Layer.mergeAll(
        KeyRepoMemory.layer,
        LedgerMemory.layer,
        LimitsMemory.layer,
        CacheMemory.layer(whole.cache),
        Ids.layerSequence
      )
    )
  )
  return { heard, layer }
}

interface Asked {
  readonly request?: Partial<ChatRequest>
  readonly key?: Partial<KeyRecord>
  readonly cacheControl?: CacheControl
}

const limits = { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrency: 1_000 }

const begun = ({ cacheControl = "use", key, request }: Asked = {}) =>
  Effect.gen(function* () {
    const completion = yield* Completion
    const { metadata, note } = new MetadataRecorder()
    const completed = yield* completion.run({
      request: requestWith(request),
      caller: { key: keyWith(key), limits },
      cacheControl,
      note
    })
    return { completed, metadata }
  })

/** A whole request: run, read to its end, its scope closed. */
const asked = (given: Asked = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { completed, metadata } = yield* begun(given)
      if (completed._tag === "Reply") {
        return { metadata, usage: completed.usage, text: completed.reply.choices[0]?.message.content, events: [] }
      }
      const events: ReadonlyArray<CompletionEvent> = Array.from(yield* Stream.runCollect(completed.events.stream))
      const last = events.at(-1)
      return { metadata, usage: last?._tag === "Usage" ? last.usage : undefined, text: undefined, events }
    })
  )

const KEY = keyWith().id

const recordOf = (generationId: string | null) =>
  Effect.gen(function* () {
    const found = yield* (yield* GenerationStore).find(generationId ?? "", KEY)
    return Option.isSome(found) && found.value._tag === "Settled" ? found.value.generation : assert.fail("not settled")
  })

const balance = Effect.gen(function* () {
  return (yield* (yield* Ledger).balances([KEY], "1970-01")).get(KEY)
})

const capped = { monthlyBudgetNano: nanoFromUsd(1) }
const streaming = { request: { stream: true } }

it.effect("the reported usage is billed, a reported zero included", () => {
  const { layer } = gatewayOn({
    alpha: { reply: saying("Hello", { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }) }
  })
  return Effect.gen(function* () {
    const { metadata, usage } = yield* asked()
    assert.deepInclude(usage, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, estimated_cost_usd: 0 })
    assert.strictEqual((yield* recordOf(metadata.generationId)).usageSource, "provider")
  }).pipe(Effect.provide(layer))
})

it.effect("without reported usage tokens are counted, whole or streamed, and the record says so", () => {
  const { layer } = gatewayOn({
    alpha: { reply: saying("one two three", null), events: [piece("one two"), piece(" three"), stop, ending(null)] }
  })
  return Effect.gen(function* () {
    for (const given of [{}, streaming]) {
      const { metadata, usage } = yield* asked({ ...given, cacheControl: "no-store" })
      assert.deepInclude(usage, { prompt_tokens: 7, completion_tokens: 3, estimated_cost_usd: 0.000013 })
      const record = yield* recordOf(metadata.generationId)
      assert.strictEqual(record.usageSource, "counted")
      assert.strictEqual(record.finishReason, "stop")
    }
  }).pipe(Effect.provide(layer))
})

it.effect("the provider's cached tokens cost the cache price", () => {
  const reply = saying("Hello", { promptTokens: 100, completionTokens: 10, cachedTokens: 80 })
  const pricing = { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: 100_000 }
  const { layer } = gatewayOn({ alpha: { reply } }, { offer: { pricing } })
  return Effect.gen(function* () {
    const { usage } = yield* asked()
    assert.deepInclude(usage, { cached_tokens: 80, cache_discount_usd: 0.000072, estimated_cost_usd: 0.000048 })
    const hit = yield* asked()
    assert.deepInclude(hit.usage, { cached_tokens: 80, estimated_cost_usd: 0, cache_hit: true })
    assert.strictEqual((yield* balance)?.spentNano, 48_000)
  }).pipe(Effect.provide(layer))
})

it.effect("a long prompt is charged its tier's prices, and the receipt shows them", () => {
  const tier = { prompt: 3_000_000, completion: 4_000_000, cachedPrompt: null }
  const pricing = { ...scriptedOffer("test/small").pricing, tiers: [{ abovePromptTokens: 9, ...tier }] }
  const { layer } = gatewayOn({ alpha: { reply: saying("Hello") } }, { offer: { pricing } })
  return Effect.gen(function* () {
    const { metadata, usage } = yield* asked({ key: capped, request: { max_tokens: 5 } })
    assert.strictEqual(usage?.estimated_cost_usd, 0.00005)
    const record = yield* recordOf(metadata.generationId)
    assert.deepStrictEqual(record.price, tier)
    assert.deepStrictEqual(yield* balance, { spentNano: 50_000, reservedNano: 0 })
  }).pipe(Effect.provide(layer))
})

it.effect("a stream that its client leaves is billed once for its output, and its reservation is released", () => {
  const { heard, layer } = gatewayOn({ alpha: { events: [piece("one two three"), 60_000, ending()] } })
  return Effect.gen(function* () {
    const scope = yield* Scope.make()
    const { completed, metadata } = yield* Scope.provide(begun({ ...streaming, key: capped }), scope)
    const events = completed._tag === "Stream" ? completed.events : assert.fail("no stream")
    yield* Stream.runDrain(Stream.take(events.stream, 1))
    assert.isAbove((yield* balance)?.reservedNano ?? 0, 0)
    yield* Scope.close(scope, Exit.void)
    const record = yield* recordOf(metadata.generationId)
    assert.isTrue(record.cancelled)
    assert.deepStrictEqual(record.usage, { promptTokens: 7, completionTokens: 3, cachedTokens: 0 })
    assert.deepStrictEqual(yield* balance, { spentNano: 13_000, reservedNano: 0 })
    assert.deepStrictEqual(heard.aborted, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("a broken stream is billed for its output, and never stored", () => {
  const { heard, layer } = gatewayOn({ alpha: { events: [piece("one two three"), new Cut({ detail: "reset" })] } })
  return Effect.gen(function* () {
    const { events, metadata, usage } = yield* asked({ ...streaming, key: capped })
    assert.deepStrictEqual(
      events.map(({ _tag }) => _tag),
      ["Choices", "Failed", "Usage"]
    )
    assert.deepInclude(usage, { prompt_tokens: 7, completion_tokens: 3 })
    const record = yield* recordOf(metadata.generationId)
    assert.deepInclude(record, { cancelled: false, finishReason: "error", errorType: "provider_error" })
    assert.deepStrictEqual(yield* balance, { spentNano: 13_000, reservedNano: 0 })
    yield* asked({ ...streaming, key: capped })
    assert.strictEqual(heard.calls.length, 2)
  }).pipe(Effect.provide(layer))
})

it.effect("a client that leaves a replay pays nothing", () => {
  const { layer } = gatewayOn({ alpha: { events: [piece("Hello"), stop, ending()] } })
  return Effect.gen(function* () {
    yield* asked({ ...streaming, key: capped })
    const before = yield* balance
    const scope = yield* Scope.make()
    const { metadata } = yield* Scope.provide(begun({ ...streaming, key: capped }), scope)
    yield* Scope.close(scope, Exit.void)
    const record = yield* recordOf(metadata.generationId)
    assert.deepInclude(record, { cancelled: true, cacheHit: true })
    assert.strictEqual(record.cost.billedNano, 0)
    assert.deepStrictEqual(yield* balance, before)
  }).pipe(Effect.provide(layer))
})

it.effect("many concurrent equal requests make one upstream call; one is billed", () => {
  const { heard, layer } = gatewayOn({ alpha: { delayMs: 1_000, reply: saying("Hello") } })
  return Effect.gen(function* () {
    const fibers = yield* Effect.forEach(Array.from({ length: 25 }), () =>
      Effect.forkChild(asked(), { startImmediately: true })
    )
    yield* TestClock.adjust(1_000)
    const answers = yield* Fiber.joinAll(fibers)
    assert.isTrue(answers.every(({ text }) => text === "Hello"))
    assert.strictEqual(heard.calls.length, 1)
    assert.strictEqual(answers.filter(({ metadata }) => metadata.cache === "miss").length, 1)
    assert.strictEqual(answers.filter(({ metadata }) => metadata.cache === "hit").length, 24)
    assert.strictEqual((yield* balance)?.spentNano, 20_000)
  }).pipe(Effect.provide(layer))
})

it.effect("when the first of many leaves, one of the others calls, and the rest get its answer", () => {
  const { heard, layer } = gatewayOn({ alpha: { delayMs: 1_000, reply: saying("Hello") } })
  return Effect.gen(function* () {
    const fork = Effect.forkChild(asked(), { startImmediately: true })
    const leader = yield* fork
    const others = yield* Effect.all([fork, fork, fork])
    yield* TestClock.adjust(500)
    yield* Effect.forkChild(Fiber.interrupt(leader), { startImmediately: true })
    yield* TestClock.adjust(1_000)
    const answers = yield* Fiber.joinAll(others)
    assert.deepStrictEqual(
      answers.map(({ text }) => text),
      ["Hello", "Hello", "Hello"]
    )
    assert.deepStrictEqual([heard.calls.length, heard.aborted.length], [2, 0])
  }).pipe(Effect.provide(layer))
})

it.effect("failures, filtered and truncated answers are not stored; complete ones of any limit are", () => {
  const rejected = new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })
  const finished = (reason: string) => ({
    ...saying(reason),
    choices: [{ index: 0, message: { role: "assistant" as const, content: reason }, finish_reason: reason }]
  })
  const { heard, layer } = gatewayOn({
    alpha: [
      { failure: rejected },
      { reply: finished("content_filter") },
      { reply: finished("length") },
      { reply: saying("late") }
    ]
  })
  return Effect.gen(function* () {
    assert.strictEqual((yield* Effect.flip(asked())).reason._tag, "InvalidRequest")
    assert.strictEqual((yield* asked()).text, "content_filter")
    assert.strictEqual((yield* asked()).text, "length")
    assert.strictEqual((yield* asked()).text, "length")
    assert.strictEqual(heard.calls.length, 3)
  }).pipe(Effect.provide(layer))
})

it.effect("an answer that the budget cut short is not stored", () => {
  const { heard, layer } = gatewayOn({ alpha: { reply: saying("Hello") } })
  return Effect.gen(function* () {
    // The budget has room for a limited output only.
    yield* asked({ key: { monthlyBudgetNano: 100_000 } })
    assert.isBelow(Number(heard.requests[0]?.["max_tokens"]), 50)
    const again = yield* asked()
    assert.strictEqual(again.metadata.cache, "miss")
    assert.strictEqual(heard.calls.length, 2)
  }).pipe(Effect.provide(layer))
})

it.effect("the answer of a provider that is no longer allowed is not served from the cache", () => {
  const { heard, layer } = gatewayOn({ alpha: { reply: saying("from alpha") }, beta: { reply: saying("from beta") } })
  return Effect.gen(function* () {
    assert.strictEqual((yield* asked()).text, "from alpha")
    assert.strictEqual((yield* asked()).metadata.cache, "hit")
    const ignoring = yield* asked({ request: { provider: { allow_fallbacks: true, ignore: ["alpha"] } } })
    assert.deepStrictEqual([ignoring.text, ignoring.metadata.cache], ["from beta", "miss"])
    assert.deepStrictEqual(heard.calls, ["alpha", "beta"])
  }).pipe(Effect.provide(layer))
})

it.effect("a failed request is recorded at no charge; one without a call is not recorded", () => {
  const { layer } = gatewayOn({ alpha: { failure: new Cut({ detail: "reset" }) } })
  return Effect.gen(function* () {
    const ledgerReports = yield* LedgerReports
    const generationStore = yield* GenerationStore
    yield* Effect.flip(asked({ key: capped }))
    yield* Effect.flip(asked({ key: capped, request: { model: "no/such" } }))
    const { generations } = yield* generationStore.list({ keyId: KEY, limit: 10, cursor: null })
    assert.deepStrictEqual(
      generations.map(({ cost, errorType, provider }) => [errorType, provider, cost.billedNano]),
      [["provider_error", "alpha", 0]]
    )
    assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 0 })
    assert.strictEqual((yield* ledgerReports.overview(0)).pending, 0)
  }).pipe(Effect.provide(layer))
})

it.effect("under any concurrency the cap holds, and requests are refused only when it is used up", () => {
  const { layer } = gatewayOn({
    alpha: { delayMs: 10, reply: saying("Hello", { promptTokens: 7, completionTokens: 5, cachedTokens: 0 }) }
  })
  return Effect.gen(function* () {
    const cap = 500_000
    const request = (seed: number) =>
      asked({ key: { monthlyBudgetNano: cap }, request: { seed, max_tokens: 5 } }).pipe(
        Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: () => "served" })
      )
    const fibers = yield* Effect.forEach(
      Array.from({ length: 100 }, (_, seed) => seed),
      (seed) => Effect.forkChild(request(seed), { startImmediately: true })
    )
    const during = yield* balance
    assert.isAtMost((during?.spentNano ?? 0) + (during?.reservedNano ?? 0), cap)
    yield* TestClock.adjust(10)
    const outcomes = yield* Fiber.joinAll(fibers)
    const served = outcomes.filter((outcome) => outcome === "served").length
    assert.deepStrictEqual([...new Set(outcomes)].sort(), ["BudgetExceeded", "served"])
    const after = yield* balance
    assert.deepStrictEqual(after, { spentNano: served * 17_000, reservedNano: 0 })
    // After 29 requests the rest pays for a prompt, but for no token of output.
    assert.strictEqual(served, 29)
  }).pipe(Effect.provide(layer))
})
