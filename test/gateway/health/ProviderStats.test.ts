import * as StatsMemory from "../../../src/store/providerState/StatsMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ProviderStats } from "../../../src/gateway/health/ProviderStats.ts"
import { StatsStore } from "../../../src/store/providerState/StatsStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"

const stream = (latencyMs: number) => ({ ok: true, latencyMs, streamed: true })
const failure = { ok: false, latencyMs: null, streamed: true }

it.effect("a provider that was never called has no measurements", () =>
  Effect.gen(function* () {
    const stats = yield* ProviderStats
    const unseen = { calls: 0, successRate: 1, firstTokenMs: null, wholeMs: null, throughputTps: null }
    assert.deepStrictEqual(stats.snapshot("alpha"), unseen)
    stats.record("alpha", "m", stream(1))
    assert.deepStrictEqual(stats.snapshot("alpha", "other"), unseen)
  }).pipe(Effect.provide(ProviderStats.layer))
)

it.effect("rates are over all calls and times over answered ones, by model and over all models", () =>
  Effect.gen(function* () {
    const stats = yield* ProviderStats
    for (const latencyMs of [10, 30, 20]) stats.record("alpha", "one", stream(latencyMs))
    stats.record("alpha", "two", failure)
    stats.record("alpha", "one", { ok: true, latencyMs: 90, streamed: false })
    stats.record("alphabet", "one", failure)
    stats.recordSpeed("alpha", "one", 40)
    assert.deepStrictEqual(stats.snapshot("alpha"), {
      calls: 5,
      successRate: 0.8,
      firstTokenMs: { p50: 20, p99: 30 },
      wholeMs: { p50: 90, p99: 90 },
      throughputTps: 40
    })
    assert.deepInclude(stats.snapshot("alpha", "two"), { calls: 1, successRate: 0, firstTokenMs: null })
  }).pipe(Effect.provide(ProviderStats.layer))
)

it.effect("a stream that broke off counts as not answered", () =>
  Effect.gen(function* () {
    const stats = yield* ProviderStats
    stats.record("alpha", "m", stream(10))
    stats.record("alpha", "m", stream(10))
    stats.recordBreak("alpha", "m")
    assert.deepInclude(stats.snapshot("alpha", "m"), { calls: 2, successRate: 0.5 })
  }).pipe(Effect.provide(ProviderStats.layer))
)

it.effect("a count is halved after five minutes and dropped after half an hour", () =>
  Effect.gen(function* () {
    const stats = yield* ProviderStats
    for (let count = 0; count < 8; count++) stats.record("alpha", "m", stream(1_000))
    yield* TestClock.adjust("10 minutes")
    for (let count = 0; count < 3; count++) stats.record("alpha", "m", stream(10))
    const after = stats.snapshot("alpha", "m")
    assert.closeTo(after.calls, 5, 1e-9)
    assert.deepStrictEqual(after.firstTokenMs, { p50: 10, p99: 1_000 })
    yield* TestClock.adjust("20 minutes")
    assert.deepStrictEqual(stats.snapshot("alpha", "m").firstTokenMs, { p50: 10, p99: 10 })
    yield* TestClock.adjust("10 minutes")
    assert.deepInclude(stats.snapshot("alpha", "m"), { calls: 0, successRate: 1, firstTokenMs: null })
  }).pipe(Effect.provide(ProviderStats.layer))
)

const started = Effect.flatMap(Layer.build(Layer.fresh(ProviderStats.layerShared)), (replica) =>
  Effect.provideContext(ProviderStats, replica)
)

it.effect("processes see each other's calls within seconds, their own at once, and none twice", () =>
  Effect.gen(function* () {
    const a = yield* started
    const b = yield* started
    a.record("alpha", "m", stream(10))
    b.record("alpha", "m", stream(30))
    b.record("alpha", "m", failure)
    assert.strictEqual(a.snapshot("alpha", "m").calls, 1)
    yield* TestClock.adjust("4 seconds")
    const agreed = { calls: 3, successRate: 2 / 3, firstTokenMs: { p50: 10, p99: 30 } }
    assert.deepInclude(a.snapshot("alpha", "m"), agreed)
    assert.deepInclude(b.snapshot("alpha", "m"), agreed)
    a.record("alpha", "m", failure)
    yield* TestClock.adjust("3 minutes")
    assert.closeTo(a.snapshot("alpha", "m").calls, 4 * 0.5 ** 0.6, 1e-9)
    assert.deepStrictEqual(a.snapshot("alpha", "m"), b.snapshot("alpha", "m"))
    const late = yield* started
    assert.deepStrictEqual(late.snapshot("alpha", "m"), a.snapshot("alpha", "m"), "a new replica learns what was")
  }).pipe(Effect.scoped, Effect.provide(StatsMemory.layer))
)

it.effect("while the store is away own calls count, and they are sent once it is back", () => {
  let away = true
  const told: Array<string> = []
  const error = new StoreError({ dependency: "limit_store", cause: new Error("away") })
  const store = Layer.succeed(StatsStore, {
    add: (_slot, counts) =>
      Effect.suspend(() => {
        if (away) return Effect.fail(error)
        for (const [name, count] of counts) told.push(`${name} ${count}`)
        return Effect.void
      }),
    read: (slots) => Effect.suspend(() => (away ? Effect.fail(error) : Effect.succeed(slots.map(() => new Map()))))
  })
  return Effect.gen(function* () {
    const stats = yield* ProviderStats
    stats.record("alpha", "m", failure)
    yield* TestClock.adjust("10 seconds")
    assert.deepInclude(stats.snapshot("alpha", "m"), { calls: 1, successRate: 0 })
    stats.record("alpha", "m", failure)
    assert.strictEqual(stats.snapshot("alpha", "m").calls, 2)
    away = false
    yield* TestClock.adjust("2 seconds")
    assert.deepStrictEqual(told, ["alpha m calls 2"])
  }).pipe(Effect.provide(Layer.provide(ProviderStats.layerShared, store)))
})
