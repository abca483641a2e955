import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../../src/domain/Ids.ts"
import * as CircuitHistory from "../../../src/gateway/health/CircuitHistory.ts"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import { CredentialsRefused, ProviderError, ServerFault } from "../../../src/providers/Provider.ts"
import * as OutageMemory from "../../../src/store/outages/OutageMemory.ts"
import { OutageStore } from "../../../src/store/outages/OutageStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { candidateWith } from "../plans.ts"

const alpha = candidateWith("alpha")
const configs = [alpha.provider]
const failed = (words: string) =>
  Effect.fail(
    new ProviderError({ provider: "alpha", reason: new ServerFault({ status: 503, retryAfterMs: null }), words })
  )
const refused = Effect.fail(new ProviderError({ provider: "alpha", reason: new CredentialsRefused({ status: 401 }) }))

const stores = Layer.merge(OutageMemory.layer, Ids.layerSequence)

/** A process: its circuits, and the recording of their changes, until it is stopped. */
const process = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const layer = Layer.provideMerge(CircuitHistory.layer(configs), Circuits.layerMemory)
  const circuits = yield* Effect.map(Scope.provide(Layer.build(Layer.fresh(layer)), scope), (services) =>
    Effect.provideContext(Circuits, services)
  ).pipe(Effect.flatten)
  return { circuits, stop: Scope.close(scope, Exit.void) }
})

const opened = (circuits: Circuits["Service"]) =>
  Effect.gen(function* () {
    for (let count = 0; count < 5; count++) yield* Effect.flip(circuits.guard(alpha)(failed(`overloaded ${count}`)))
  })

const shown = Effect.flatMap(OutageStore, (store) => store.list("alpha", 10)).pipe(
  Effect.map((all) =>
    all.map(({ cause, closedAtMs, closedBy, model, openedAtMs, openings }) => ({
      cause,
      closedAtMs,
      closedBy,
      model,
      openedAtMs,
      openings
    }))
  )
)

const overloaded = { errorType: "server_error", httpStatus: 503, message: "overloaded 4" }

it.effect("a circuit that opens and closes is an outage with its cause, written a second later", () =>
  Effect.gen(function* () {
    const { circuits, stop } = yield* process
    yield* opened(circuits)
    assert.deepStrictEqual(yield* shown, [])
    yield* TestClock.adjust("1 second")
    const outage = {
      model: alpha.offer.id,
      openedAtMs: 0,
      closedAtMs: null,
      closedBy: null,
      openings: 1,
      cause: overloaded
    }
    assert.deepStrictEqual(yield* shown, [outage])
    yield* circuits.guard(alpha)(Effect.void)
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* shown, [{ ...outage, closedAtMs: 1_000, closedBy: "answer" }])
    yield* stop
  }).pipe(Effect.provide(stores))
)

it.effect("refused credentials are an outage of every model, from the first refusal to the next answer", () =>
  Effect.gen(function* () {
    const { circuits, stop } = yield* process
    yield* Effect.flip(circuits.guard(alpha, false, "key_1")(refused))
    yield* Effect.flip(circuits.guard(alpha, false, "key_2")(refused))
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(circuits.refusedSinceMs(alpha), 0)
    yield* circuits.guard(alpha, false, "key_1")(Effect.void)
    yield* TestClock.adjust("1 second")
    const cause = { errorType: "credentials_refused", httpStatus: 401, message: null }
    assert.deepStrictEqual(yield* shown, [
      { model: null, openedAtMs: 0, closedAtMs: 60_000, closedBy: "answer", openings: 1, cause }
    ])
    assert.isNull(circuits.refusedSinceMs(alpha))
    yield* stop
  }).pipe(Effect.provide(stores))
)

it.effect("a process that ends writes what it knows, and the next one closes the outage that it does not know", () =>
  Effect.gen(function* () {
    const first = yield* process
    yield* opened(first.circuits)
    yield* Effect.yieldNow
    yield* first.stop
    assert.strictEqual((yield* shown)[0]?.closedAtMs, null)
    yield* TestClock.adjust("1 minute")
    const second = yield* process
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* shown, [
      {
        model: alpha.offer.id,
        openedAtMs: 0,
        closedAtMs: 60_000,
        closedBy: "restart",
        openings: 1,
        cause: overloaded
      }
    ])
    yield* second.stop
  }).pipe(Effect.provide(stores))
)

it.effect("what happened while the database was away is one record", () => {
  const records: Array<unknown> = []
  let isAway = true
  const flaky = Layer.succeed(OutageStore, {
    record: ({ closedAtMs, opened }) =>
      isAway
        ? Effect.fail(new StoreError({ dependency: "database", cause: null }))
        : Effect.sync(() => void records.push([opened?.atMs, opened?.openings, closedAtMs])),
    latest: () => Effect.succeed([]),
    list: () => Effect.succeed([])
  })
  return Effect.gen(function* () {
    const { circuits, stop } = yield* process
    for (let time = 0; time < 3; time++) {
      yield* opened(circuits)
      yield* TestClock.adjust("1 second")
      yield* circuits.guard(alpha)(Effect.void)
      yield* TestClock.adjust("1 second")
    }
    isAway = false
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(records, [[0, 3, 5_000]])
    yield* stop
  }).pipe(Effect.provide(Layer.merge(flaky, Ids.layerSequence)))
})
