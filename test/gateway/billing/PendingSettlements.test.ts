/**
 * Requests that ended while the database was away: their settlements outlive their settings and
 * delay the end of the process.
 */
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../../src/domain/Ids.ts"
import { nanoFromUsd } from "../../../src/domain/pricing/Money.ts"
import * as PendingSettlements from "../../../src/gateway/billing/PendingSettlements.ts"
import { Lifecycle } from "../../../src/gateway/process/Lifecycle.ts"
import { Meter } from "../../../src/gateway/billing/Meter.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { meteredWith } from "../plans.ts"
import { outcomeWith } from "./outcomeWith.ts"

/** A process with a ledger whose settlements can be made to fail. It ends when `scope` closes. */
const processWith = Effect.gen(function* () {
  const trouble = { isAway: false }
  const away = Effect.fail(new StoreError({ dependency: "database", cause: null }))
  const ledger = Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) => ({
      ...ledger,
      settle: (generation, month) => Effect.suspend(() => (trouble.isAway ? away : ledger.settle(generation, month))),
      renew: (...parameters) => Effect.suspend(() => (trouble.isAway ? away : ledger.renew(...parameters))),
      void: (id) => Effect.suspend(() => (trouble.isAway ? away : ledger.void(id)))
    }))
  ).pipe(Layer.provideMerge(LedgerMemory.layer))
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(
    PendingSettlements.layer({ drainTimeoutMs: 30_000 }).pipe(
      Layer.provideMerge(Layer.mergeAll(Lifecycle.layer, Layer.fresh(ledger), LimitsMemory.layer, Ids.layerSequence))
    ),
    scope
  )
  return { trouble, scope, services }
})

/** A request with its own settings, which are gone once it has ended. */
const onSettings = <A, E, R>(use: (meter: Meter["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.flatMap(Layer.build(Meter.layer({ markup: 0, ledger: { leaseMs: 150_000 } })), (built) =>
      use(Context.get(built, Meter))
    )
  )

const request = () => meteredWith({ key: { monthlyBudgetNano: nanoFromUsd(1) }, outputTokens: 10 })

/** Costs 30,000 nano-USD; the database goes away before its end. */
const answered = (trouble: { isAway: boolean }) =>
  onSettings(
    Effect.fnUntraced(function* ({ reserve, settle }) {
      const one = request()
      yield* reserve(one)
      trouble.isAway = true
      yield* settle(one, outcomeWith({ usage: { promptTokens: 10, completionTokens: 10, cachedTokens: 0 } }))
      return one
    })
  )

const balance = Effect.flatMap(Ledger, (ledger) =>
  Effect.map(ledger.balances([request().plan.caller.key.id], "1970-01"), (balances) => [...balances.values()][0])
)

it.effect("are written once the database is back, even if their settings are gone", () =>
  Effect.gen(function* () {
    const { services, trouble } = yield* processWith
    yield* Effect.gen(function* () {
      const { generationId } = (yield* answered(trouble)).plan
      const { waiting } = yield* PendingSettlements.PendingSettlements
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(waiting(), 1)
      assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 30_000 })
      trouble.isAway = false
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(waiting(), 0)
      assert.deepStrictEqual(yield* balance, { spentNano: 30_000, reservedNano: 0 })
      const found = Option.getOrThrow(yield* (yield* GenerationStore).find(generationId, null))
      assert.strictEqual(found._tag === "Settled" ? found.generation.usageSource : found._tag, "provider")
    }).pipe(Effect.provideContext(services))
  })
)

it.effect("replace the estimate of another process", () =>
  Effect.gen(function* () {
    const { services, trouble } = yield* processWith
    yield* Effect.gen(function* () {
      const { generationId } = (yield* answered(trouble)).plan
      yield* TestClock.adjust("10 minutes")
      const ledger = yield* Ledger
      const generationStore = yield* GenerationStore
      assert.strictEqual(yield* ledger.settleExpired, 1)
      // The cost of the prompt, which was known at the beginning.
      assert.deepStrictEqual(yield* balance, { spentNano: 10_000, reservedNano: 0 })
      trouble.isAway = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* balance, { spentNano: 30_000, reservedNano: 0 })
      const found = Option.getOrThrow(yield* generationStore.find(generationId, null))
      assert.strictEqual(found._tag === "Settled" ? found.generation.usageSource : found._tag, "provider")
    }).pipe(Effect.provideContext(services))
  })
)

it.effect("a process that ends waits for them and for its voids, within its drain timeout", () =>
  Effect.gen(function* () {
    const { scope, services, trouble } = yield* processWith
    yield* Effect.gen(function* () {
      yield* answered(trouble)
      yield* onSettings(
        Effect.fnUntraced(function* (meter) {
          const refused = request()
          trouble.isAway = false
          yield* meter.reserve(refused)
          trouble.isAway = true
          yield* meter.void(refused)
        })
      )
      assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 60_000 })
      yield* (yield* Lifecycle).drain
      yield* TestClock.adjust("20 seconds")
      const ending = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* TestClock.adjust("8 seconds")
      assert.isUndefined(ending.pollUnsafe())
      trouble.isAway = false
      yield* TestClock.adjust("1 seconds")
      assert.isDefined(ending.pollUnsafe())
      assert.deepStrictEqual(yield* balance, { spentNano: 30_000, reservedNano: 0 })
    }).pipe(Effect.provideContext(services))
  })
)

it.effect("a process waits no longer than that, and not at all if there are none", () =>
  Effect.gen(function* () {
    const first = yield* processWith
    yield* Effect.gen(function* () {
      yield* answered(first.trouble)
      yield* (yield* Lifecycle).drain
      yield* TestClock.adjust("20 seconds")
      const ending = yield* Effect.forkChild(Scope.close(first.scope, Exit.void), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(ending.pollUnsafe())
      yield* TestClock.adjust("1 seconds")
      assert.isDefined(ending.pollUnsafe())
      // Recovery charges the reservation.
      assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 30_000 })
    }).pipe(Effect.provideContext(first.services))

    const second = yield* processWith
    yield* Scope.close(second.scope, Exit.void)
  })
)
