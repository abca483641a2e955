import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ProviderStats } from "../../src/gateway/ProviderStats.ts"

it.effect("nothing was seen of a provider that was never called", () =>
  Effect.gen(function* () {
    const stats = yield* ProviderStats
    const unseen = { calls: 0, successRate: 1, latencyMs: null, throughputTps: null }
    assert.deepStrictEqual(stats.snapshot("alpha"), unseen)
    yield* stats.record("alpha", "m", { ok: true, latencyMs: 1 })
    assert.deepStrictEqual(stats.snapshot("alpha", "other"), unseen)
  }).pipe(Effect.provide(ProviderStats.layer))
)

it.effect("rates over all calls, latencies over those that answered, by model and over all", () =>
  Effect.gen(function* () {
    const stats = yield* ProviderStats
    for (const latencyMs of [10, 30, 20]) yield* stats.record("alpha", "one", { ok: true, latencyMs })
    yield* stats.record("alpha", "two", { ok: false, latencyMs: 9_000 })
    yield* stats.recordSpeed("alpha", "one", 40)
    assert.deepStrictEqual(stats.snapshot("alpha"), {
      calls: 4,
      successRate: 0.75,
      latencyMs: { p50: 20, p99: 30 },
      throughputTps: 40
    })
    assert.deepInclude(stats.snapshot("alpha", "two"), { calls: 1, successRate: 0, latencyMs: null })
  }).pipe(Effect.provide(ProviderStats.layer))
)

it.effect("only the last 256 calls count", () =>
  Effect.gen(function* () {
    const stats = yield* ProviderStats
    for (let count = 0; count < 256; count++) yield* stats.record("alpha", "m", { ok: false, latencyMs: 1 })
    for (let count = 0; count < 256; count++) yield* stats.record("alpha", "m", { ok: true, latencyMs: 1 })
    assert.deepInclude(stats.snapshot("alpha"), { calls: 256, successRate: 1 })
  }).pipe(Effect.provide(ProviderStats.layer))
)
