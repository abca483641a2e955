/** The reservation of a key without a cap, and the settlement that may take its place. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../../src/domain/Ids.ts"
import { nanoFromUsd } from "../../../src/domain/pricing/Money.ts"
import { Meter } from "../../../src/gateway/billing/Meter.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { meteredWith } from "../plans.ts"
import { outcomeWith } from "./outcomeWith.ts"

const KEY = "key_000000000000000000000000000000aa"

/** Costs 20,000 nano-USD. */
const answer = outcomeWith()

/** A meter, and the writes to its ledger in their order. The next `failures` of them fail. */
const scene = () => {
  const writes: Array<string> = []
  const trouble = { failures: 0 }
  const noted = <A>(name: string, write: Effect.Effect<A, StoreError>) =>
    Effect.suspend(() => {
      writes.push(name)
      return trouble.failures-- > 0 ? Effect.fail(new StoreError({ dependency: "database", cause: null })) : write
    })
  const ledger = Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) => ({
      ...ledger,
      reserve: (reservation) => noted("reserve", ledger.reserve(reservation)),
      settle: (generation, month) => noted("settle", ledger.settle(generation, month)),
      void: (id) => noted("void", ledger.void(id))
    }))
  ).pipe(Layer.provideMerge(LedgerMemory.layer))
  const layer = Meter.layer({ markup: 0, ledger: { leaseMs: 150_000 } }).pipe(
    Layer.provideMerge(Layer.mergeAll(ledger, LimitsMemory.layer, Ids.layerSequence))
  )
  return { layer, trouble, writes }
}

const balance = Effect.gen(function* () {
  return (yield* (yield* Ledger).balances([KEY], "1970-01")).get(KEY)
})
const paid = { spentNano: 20_000, reservedNano: 0 }

it.effect("an answer that is there before the reservation is written costs one write", () => {
  const { layer, writes } = scene()
  return Effect.gen(function* () {
    const meter = yield* Meter
    const request = meteredWith()
    yield* meter.reserve(request)
    const generation = yield* meter.settleAnswer(request, answer)
    assert.isAbove(generation.reservation.reservedNano, 0)
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(writes, ["settle"])
    assert.deepStrictEqual(yield* balance, paid)
  }).pipe(Effect.provide(layer))
})

it.effect("a reservation is written after ten milliseconds at the latest, and each request has its own time", () => {
  const { layer, writes } = scene()
  return Effect.gen(function* () {
    const meter = yield* Meter
    const [first, second] = [meteredWith(), meteredWith()]
    yield* meter.reserve(first)
    yield* TestClock.adjust("4 millis")
    assert.deepStrictEqual(writes, [])
    yield* TestClock.adjust("4 millis")
    yield* meter.reserve(second)
    yield* TestClock.adjust("2 millis")
    assert.deepStrictEqual(writes, ["reserve"])
    yield* meter.settleAnswer(first, answer)
    yield* TestClock.adjust("8 millis")
    assert.deepStrictEqual(writes, ["reserve", "settle", "reserve"])
    yield* TestClock.adjust("1 minute")
    // The next one begins a new series.
    yield* meter.reserve(meteredWith())
    yield* TestClock.adjust("10 millis")
    assert.strictEqual(writes.length, 4)
  }).pipe(Effect.provide(layer))
})

it.effect("the reservation of a stream, and that of a key with a cap, is written at once", () => {
  const { layer, writes } = scene()
  return Effect.gen(function* () {
    const meter = yield* Meter
    yield* meter.reserve(meteredWith({ streamed: true }))
    yield* TestClock.adjust(0)
    assert.deepStrictEqual(writes, ["reserve"])
    yield* meter.reserve(meteredWith({ key: { monthlyBudgetNano: nanoFromUsd(1) } }))
    assert.deepStrictEqual(writes, ["reserve", "reserve"])
  }).pipe(Effect.provide(layer))
})

it.effect("a request that ends without an answer before its reservation is written leaves none", () => {
  const { layer, writes } = scene()
  return Effect.gen(function* () {
    const meter = yield* Meter
    const [voided, failed] = [meteredWith(), meteredWith()]
    yield* meter.reserve(voided)
    yield* meter.void(voided)
    yield* meter.reserve(failed)
    yield* meter.settle(failed, { ...answer, errorType: "provider_error" })
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(writes, ["settle"])
    assert.strictEqual((yield* balance)?.reservedNano, 0)
  }).pipe(Effect.provide(layer))
})

it.effect("a settlement that fails in the place of a reservation is written after it, once", () => {
  const { layer, trouble, writes } = scene()
  return Effect.gen(function* () {
    const meter = yield* Meter
    const request = meteredWith()
    yield* meter.reserve(request)
    trouble.failures = 1
    yield* meter.settleAnswer(request, answer)
    assert.deepStrictEqual(writes, ["settle", "reserve", "settle"])
    assert.deepStrictEqual(yield* balance, paid)
  }).pipe(Effect.provide(layer))
})

it.effect("no answer leaves while neither can be written", () => {
  const { layer, trouble, writes } = scene()
  return Effect.gen(function* () {
    const meter = yield* Meter
    const request = meteredWith()
    yield* meter.reserve(request)
    trouble.failures = 2
    const error = yield* Effect.flip(meter.settleAnswer(request, answer))
    assert.strictEqual(error.reason._tag, "DependencyUnavailable")
    // The request may still be recorded as failed.
    yield* meter.settle(request, { ...answer, usage: { ...answer.usage, completionTokens: 0 } })
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(writes.slice(0, 2), ["settle", "reserve"])
    assert.deepStrictEqual(yield* balance, { spentNano: 10_000, reservedNano: 0 })
  }).pipe(Effect.provide(layer))
})
