import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { type Generation } from "../../../src/domain/Generation.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { nanoFromUsd } from "../../../src/domain/pricing/Money.ts"
import { type Outcome } from "../../../src/gateway/billing/Outcome.ts"
import { Meter } from "../../../src/gateway/billing/Meter.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { Limits } from "../../../src/store/limits/Limits.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { type AttemptRecord, noAttempts } from "../../../src/gateway/request/AttemptRecord.ts"
import { candidateWith, meteredWith } from "../plans.ts"
import { outcomeWith } from "./outcomeWith.ts"

const stores = Layer.mergeAll(LedgerMemory.layer, LimitsMemory.layer, Ids.layerSequence)
const meterWith = (markup = 0) => Meter.layer({ markup, ledger: { leaseMs: 150_000 } }).pipe(Layer.provideMerge(stores))

/**
 * 1 USD a million prompt tokens and 2 USD a million completion tokens: 1,000 and 2,000 nano-USD a
 * token.
 */
const alpha = candidateWith("alpha")
const KEY = "key_000000000000000000000000000000aa"

const balance = Effect.gen(function* () {
  const found = yield* (yield* Ledger).balances([KEY], "1970-01")
  return found.get(KEY)
})

/** One call that answered. */
const once: AttemptRecord = {
  ...noAttempts,
  attempts: [{ provider: "alpha", model: "test/small", status: "ok", latencyMs: 3, errorType: null, httpStatus: 200 }]
}

const endingWith = (ending: Partial<Outcome> = {}): Outcome => outcomeWith({ candidate: alpha, ...ending })

it.effect(
  "reserves the worst case: the prompt and the whole output of every choice at the price of the most expensive candidate",
  () =>
    Effect.gen(function* () {
      const meter = yield* Meter
      const dear = candidateWith("dear", { pricing: { prompt: 3_000_000, completion: 9_000_000, cachedPrompt: null } })
      const request = meteredWith({
        key: { monthlyBudgetNano: nanoFromUsd(1) },
        ranked: [alpha, dear],
        outputTokens: 200,
        choices: 2
      })
      assert.deepStrictEqual(yield* meter.reserve(request), { _tag: "Reserved" })
      assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 10 * 3_000 + 200 * 9_000 })
      assert.isFalse(request.reservation.held.isClamped)
      assert.strictEqual(request.reservation.held.affordableTokens, 100)
    }).pipe(Effect.provide(meterWith()))
)

it.effect("the markup is reserved too", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    yield* meter.reserve(meteredWith({ key: { monthlyBudgetNano: nanoFromUsd(1) }, outputTokens: 100 }))
    assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 262_500 })
  }).pipe(Effect.provide(meterWith(0.25)))
)

it.effect("if the worst case does not fit, the output is limited to the rest of the budget", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    // 10,000 for the prompt and 45 tokens of output, with 1,000 left over.
    const request = meteredWith({ key: { monthlyBudgetNano: 101_000 }, outputTokens: 1_000 })
    assert.deepStrictEqual(yield* meter.reserve(request), { _tag: "Reserved" })
    assert.strictEqual(request.reservation.held.affordableTokens, 45)
    assert.isTrue(request.reservation.held.isClamped)
    assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 100_000 })
  }).pipe(Effect.provide(meterWith()))
)

it.effect("refuses if not one token of output fits, and reserves nothing", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const request = meteredWith({ key: { monthlyBudgetNano: 11_999 }, outputTokens: 1_000 })
    assert.deepStrictEqual(yield* meter.reserve(request), {
      _tag: "Refused",
      balance: { spentNano: 0, reservedNano: 0 },
      neededNano: 2_010_000
    })
    assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 0 })
    const exact = meteredWith({ key: { monthlyBudgetNano: 12_000 }, outputTokens: 1_000 })
    assert.strictEqual((yield* meter.reserve(exact))._tag, "Reserved")
    assert.strictEqual(exact.reservation.held.affordableTokens, 1)
  }).pipe(Effect.provide(meterWith()))
)

it.effect("a budget of 0 refuses even a request whose prompt is free", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const outcome = yield* meter.reserve(meteredWith({ key: { monthlyBudgetNano: 0 } }))
    assert.strictEqual(outcome._tag, "Refused")
  }).pipe(Effect.provide(meterWith()))
)

it.effect("concurrent requests never exceed the cap, and can use all of it", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const cap = 1_000_000
    let served = 0
    yield* Effect.forEach(
      Array.from({ length: 200 }),
      () =>
        Effect.gen(function* () {
          const request = meteredWith({ key: { monthlyBudgetNano: cap }, outputTokens: 20 })
          const outcome = yield* meter.reserve(request)
          const during = yield* balance
          assert.isAtMost((during?.spentNano ?? 0) + (during?.reservedNano ?? 0), cap)
          if (outcome._tag === "Refused") return
          yield* Effect.yieldNow
          served++
          const completionTokens = Math.min(20, request.reservation.held.affordableTokens ?? 0)
          yield* meter.settle(request, endingWith({ usage: { promptTokens: 10, completionTokens, cachedTokens: 0 } }))
        }),
      { concurrency: 50, discard: true }
    )
    const after = yield* balance
    assert.strictEqual(after?.reservedNano, 0)
    assert.isAtMost(after?.spentNano ?? Infinity, cap)
    assert.isAbove(after?.spentNano ?? 0, cap - 12_000)
    assert.isAtLeast(served, 20)
  }).pipe(Effect.provide(meterWith()))
)

it.effect("settles once: a second outcome changes nothing", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const request = meteredWith({ key: { monthlyBudgetNano: nanoFromUsd(1) } })
    yield* meter.reserve(request)
    yield* meter.settle(request, endingWith())
    yield* meter.settle(request, endingWith({ usage: { promptTokens: 99, completionTokens: 99, cachedTokens: 0 } }))
    yield* meter.void(request)
    assert.deepStrictEqual(yield* balance, { spentNano: 20_000, reservedNano: 0 })
  }).pipe(Effect.provide(meterWith()))
)

it.effect("a void request leaves no trace", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const generationStore = yield* GenerationStore
    for (const monthlyBudgetNano of [null, nanoFromUsd(1)]) {
      const request = meteredWith({ key: { monthlyBudgetNano } })
      yield* meter.reserve(request)
      yield* meter.void(request)
      assert.isTrue(Option.isNone(yield* generationStore.find(request.plan.generationId, KEY)))
    }
    assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 0 })
  }).pipe(Effect.provide(meterWith()))
)

it.effect("cached tokens are charged once, at the cache price, and the markup is added", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const candidate = candidateWith("alpha", {
      pricing: { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: 250_000 }
    })
    const request = meteredWith({ ranked: [candidate] })
    yield* meter.reserve(request)
    const { cost } = yield* meter.settle(
      request,
      endingWith({ candidate, usage: { promptTokens: 100, completionTokens: 10, cachedTokens: 80 } })
    )
    assert.deepStrictEqual(cost, {
      promptNano: 100_000,
      completionNano: 20_000,
      cacheDiscountNano: 60_000,
      feesNano: 0,
      totalNano: 60_000,
      markupNano: 12_000,
      billedNano: 72_000,
      lines: [
        { class: "prompt", quantity: 20, price: 1_000_000, nano: 20_000 },
        { class: "cached_prompt", quantity: 80, price: 250_000, nano: 20_000 },
        { class: "completion", quantity: 10, price: 2_000_000, nano: 20_000 }
      ]
    })
  }).pipe(Effect.provide(meterWith(0.2)))
)

it.effect("a cache hit is free, shows the saving, and takes no tokens of the limit", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const limits = yield* Limits
    const request = meteredWith({ key: { monthlyBudgetNano: nanoFromUsd(1) } }, { takenTokens: 10 })
    yield* limits.acquire({
      keyId: KEY,
      leaseId: request.plan.generationId,
      limits: request.plan.caller.limits,
      tokens: 10,
      nowMs: 0,
      leaseMs: 1_000
    })
    yield* meter.reserve(request)
    const generation = yield* meter.settle(request, endingWith({ usageSource: "cache" }))
    assert.deepStrictEqual([generation.cost.billedNano, generation.cost.cacheDiscountNano], [0, 20_000])
    assert.isTrue(generation.cacheHit)
    assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 0 })
    const verdict = yield* limits.acquire({
      keyId: KEY,
      leaseId: "another",
      limits: request.plan.caller.limits,
      tokens: 0,
      nowMs: 0,
      leaseMs: 1_000
    })
    assert.strictEqual(verdict.tokens.remaining, 1_000_000)
  }).pipe(Effect.provide(meterWith()))
)

it.effect("the receipt shows the reservation, the price and the attempts", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const request = meteredWith({ key: { monthlyBudgetNano: nanoFromUsd(1) }, outputTokens: 100, streamed: true })
    yield* meter.reserve(request)
    const generation = yield* meter.settle(request, endingWith({ record: once, timeToFirstTokenMs: 2 }))
    assert.deepStrictEqual(generation.reservation, { reservedNano: 210_000, extendedNano: 0, settledNano: 20_000 })
    assert.deepStrictEqual(generation.price, alpha.offer.pricing)
    assert.strictEqual(generation.attempts.length, 1)
    assert.deepStrictEqual([generation.streamed, generation.timeToFirstTokenMs], [true, 2])
  }).pipe(Effect.provide(meterWith()))
)

it.effect("an unanswered request costs nothing and is recorded", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const request = meteredWith({ key: { monthlyBudgetNano: nanoFromUsd(1) } })
    yield* meter.reserve(request)
    const generation = yield* meter.settle(request, endingWith({ candidate: null, errorType: "provider_error" }))
    assert.strictEqual(generation.cost.billedNano, 0)
    const found = yield* (yield* GenerationStore).find(request.plan.generationId, KEY)
    assert.isTrue(Option.isSome(found) && found.value._tag === "Settled")
  }).pipe(Effect.provide(meterWith()))
)

it.effect(
  "a key without a cap starts while its reservation is written; a failed write is an error before the reply",
  () => {
    const down = Layer.effect(
      Ledger,
      Effect.map(Ledger, (ledger) => ({
        ...ledger,
        reserve: () => Effect.fail(new StoreError({ dependency: "database", cause: null }))
      }))
    ).pipe(Layer.provideMerge(LedgerMemory.layer))
    return Effect.gen(function* () {
      const meter = yield* Meter
      const request = meteredWith()
      assert.deepStrictEqual(yield* meter.reserve(request), { _tag: "Reserved" })
      const error = yield* Effect.flip(request.reservation.durable)
      assert.deepInclude(error.reason, { _tag: "DependencyUnavailable", dependency: "database" })
      const capped = yield* Effect.flip(meter.reserve(meteredWith({ key: { monthlyBudgetNano: 1 } })))
      assert.strictEqual(capped.reason._tag, "DependencyUnavailable")
    }).pipe(
      Effect.provide(
        Meter.layer({ markup: 0, ledger: { leaseMs: 150_000 } }).pipe(
          Layer.provide(Layer.mergeAll(down, LimitsMemory.layer, Ids.layerSequence))
        )
      )
    )
  }
)

/** A ledger that dies on generations that `refuses` selects. That is a defect, not an outage. */
const refusing = (refuses: (generation: Generation) => boolean) =>
  Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) => ({
      ...ledger,
      settle: (generation, month) =>
        refuses(generation) ? Effect.die(new Error("refused")) : ledger.settle(generation, month)
    }))
  ).pipe(Layer.provideMerge(LedgerMemory.layer))

const meterOn = (ledger: Layer.Layer<Ledger | GenerationStore>) =>
  Meter.layer({ markup: 0, ledger: { leaseMs: 150_000 } }).pipe(
    Layer.provideMerge(Layer.mergeAll(ledger, LimitsMemory.layer, Ids.layerSequence))
  )

it.effect("a receipt that the ledger refuses is left out, and the cost is charged", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    for (const monthlyBudgetNano of [null, nanoFromUsd(1)]) {
      const request = meteredWith({ key: { monthlyBudgetNano } })
      yield* meter.reserve(request)
      yield* meter.settle(request, endingWith({ record: once }))
      const found = Option.getOrThrow(yield* (yield* GenerationStore).find(request.plan.generationId, KEY))
      const { generation } = found._tag === "Settled" ? found : assert.fail(found._tag)
      assert.deepStrictEqual([generation.cost.billedNano, generation.attempts], [20_000, []])
    }
    assert.deepStrictEqual(yield* balance, { spentNano: 40_000, reservedNano: 0 })
  }).pipe(Effect.provide(meterOn(refusing(({ attempts }) => attempts.length > 0))))
)

it.effect("a request that cannot be written lets its reply go and its lease expire", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const ledger = yield* Ledger
    const key = { monthlyBudgetNano: 30_000 }
    const request = meteredWith({ key, outputTokens: 10 })
    yield* meter.reserve(request)
    const settled = yield* meter.settle(request, endingWith())
    assert.strictEqual(settled.cost.billedNano, 20_000)
    yield* TestClock.adjust("150 seconds")
    assert.strictEqual(yield* ledger.settleExpired, 1)
    // The cost of the prompt, which was known at the beginning.
    assert.deepStrictEqual(yield* balance, { spentNano: 10_000, reservedNano: 0 })
  }).pipe(Effect.provide(meterOn(refusing(() => true))))
)

it.effect("the names of unknown models are not recorded", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const request = meteredWith({
      excluded: [
        { slug: "*", model: "whatever a client wrote", reason: "unknown_model" },
        { slug: "beta", model: "test/small", reason: "max_price" }
      ]
    })
    yield* meter.reserve(request)
    const { excluded } = yield* meter.settle(request, endingWith())
    assert.deepStrictEqual(excluded, [{ slug: "beta", model: "test/small", reason: "max_price" }])
  }).pipe(Effect.provide(meterWith()))
)
