import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { Generations } from "../../../src/gateway/billing/Generations.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger, type Reservation } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { makeGeneration } from "../../store/ledger/makeGeneration.ts"

const layer = Generations.layer({ retentionDays: null }).pipe(Layer.provideMerge(LedgerMemory.layer))

const id = (count: number) => `gen_${String(count).padStart(32, "0")}`
const KEY = "key_mine"

const reserved = (reservation: Partial<Reservation> = {}) =>
  Effect.flatMap(Ledger, (ledger) =>
    ledger.reserve({
      generationId: id(1),
      keyId: KEY,
      ownerId: null,
      model: "test/small",
      month: "1970-01",
      amountNano: 70,
      capNano: null,
      createdAtMs: 0,
      leaseMs: 60_000,
      processId: "prc_1",
      ...reservation
    })
  )

const settled = (count: number, keyId = KEY) =>
  Effect.flatMap(Ledger, (ledger) =>
    ledger.settle(makeGeneration({ id: id(count), keyId, createdAtMs: count }, 40), "1970-01")
  )

it.effect("a read waits for a running generation until it is settled", () =>
  Effect.gen(function* () {
    const generations = yield* Generations
    yield* reserved()
    const fiber = yield* Effect.forkChild(generations.get(id(1), KEY), { startImmediately: true })
    yield* TestClock.adjust(1_500)
    assert.isUndefined(fiber.pollUnsafe())
    yield* settled(1)
    yield* TestClock.adjust(200)
    const generation = yield* Fiber.join(fiber)
    assert.deepStrictEqual([generation.id, generation.cost.billedNano], [id(1), 40])
  }).pipe(Effect.provide(layer))
)

it.effect("a read waits two seconds, answers that it is running, and polls sparingly", () => {
  let looks = 0
  const counting = Layer.effect(
    GenerationStore,
    Effect.map(GenerationStore, (store) => ({
      ...store,
      find: (...parameters) => Effect.suspend(() => (looks++, store.find(...parameters)))
    }))
  ).pipe(Layer.provideMerge(LedgerMemory.layer))
  return Effect.gen(function* () {
    const generations = yield* Generations
    yield* reserved({ ownerId: "usr_1" })
    const asked = [
      ...Array.from({ length: 100 }, () => generations.get(id(1), KEY)),
      generations.get(id(1), null),
      generations.get(id(1), null, "usr_1")
    ]
    const fibers = yield* Effect.forEach(asked, (get) => Effect.forkChild(Effect.flip(get), { startImmediately: true }))
    yield* TestClock.adjust("1999 millis")
    for (const fiber of fibers) assert.isUndefined(fiber.pollUnsafe())
    yield* TestClock.adjust("1 millis")
    for (const { reason } of yield* Effect.forEach(fibers, Fiber.join)) {
      assert.deepInclude(reason, { _tag: "GenerationRunning", retryAfterMs: 2_000 })
    }
    // One read each, and one poller for all.
    assert.isAtMost(looks, asked.length + 10)
    const before = looks
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(looks, before)
  }).pipe(Effect.provide(Generations.layer({ retentionDays: null }).pipe(Layer.provideMerge(counting))))
})

it.effect("a read settles a generation whose lease has expired", () =>
  Effect.gen(function* () {
    const generations = yield* Generations
    yield* reserved()
    yield* TestClock.adjust(60_000)
    const generation = yield* generations.get(id(1), KEY)
    assert.deepStrictEqual([generation.usageSource, generation.cost.billedNano], ["estimated", 70])
  }).pipe(Effect.provide(layer))
)

it.effect("foreign, unknown and malformed ids get the same answer, without a wait", () =>
  Effect.gen(function* () {
    const generations = yield* Generations
    yield* settled(2, "key_theirs")
    yield* reserved({ generationId: id(3), keyId: "key_theirs" })
    for (const asked of [id(2), id(3), id(4), "", "gen_", "'; drop table"]) {
      const { reason } = yield* Effect.flip(generations.get(asked, KEY))
      assert.deepInclude(reason, { _tag: "NotFound", what: "generation" }, asked)
    }
  }).pipe(Effect.provide(layer))
)

it.effect("a list shows the key's own generations, newest first, page by page", () =>
  Effect.gen(function* () {
    const generations = yield* Generations
    for (const count of [1, 2, 3, 4, 5]) yield* settled(count)
    yield* settled(6, "key_theirs")
    const first = yield* generations.list(KEY, { limit: 2, cursor: null })
    assert.deepStrictEqual(
      first.generations.map((one) => one.id),
      [id(5), id(4)]
    )
    const second = yield* generations.list(KEY, { limit: 10, cursor: first.nextCursor, fromMs: 2, toMs: 3 })
    assert.deepStrictEqual([second.generations.map((one) => one.id), second.nextCursor], [[id(2)], null])
  }).pipe(Effect.provide(layer))
)

it.effect("a generation older than the retention time cannot be read, deleted or not", () =>
  Effect.gen(function* () {
    const generations = yield* Generations
    for (const count of [1, 2, 3]) yield* settled(count)
    const list = (fromMs?: number) =>
      Effect.map(
        generations.list(KEY, { limit: 10, cursor: null, ...(fromMs === undefined ? {} : { fromMs }) }),
        (page) => page.generations.map((one) => one.id)
      )
    yield* TestClock.adjust(86_400_000 + 2)
    assert.deepStrictEqual(yield* list(), [id(3), id(2)])
    assert.deepStrictEqual(yield* list(0), [id(3), id(2)])
    assert.deepStrictEqual(yield* list(3), [id(3)])
    assert.strictEqual((yield* generations.get(id(2), KEY)).id, id(2))
    assert.deepInclude((yield* Effect.flip(generations.get(id(1), KEY))).reason, { _tag: "NotFound", id: id(1) })
  }).pipe(Effect.provide(Generations.layer({ retentionDays: 1 }).pipe(Layer.provideMerge(LedgerMemory.layer))))
)

it.effect("a database that is down is reported", () =>
  Effect.gen(function* () {
    const store = yield* GenerationStore
    const down = Effect.fail(new StoreError({ dependency: "database", cause: null }))
    const broken = Layer.succeed(GenerationStore, { ...store, find: () => down, list: () => down })
    yield* Effect.gen(function* () {
      const generations = yield* Generations
      const errors = [
        Effect.asVoid(generations.get(id(1), KEY)),
        Effect.asVoid(generations.list(KEY, { limit: 1, cursor: null }))
      ]
      for (const error of errors) {
        assert.strictEqual((yield* Effect.flip(error)).reason._tag, "DependencyUnavailable")
      }
    }).pipe(Effect.provide(Generations.layer({ retentionDays: null }).pipe(Layer.provide(broken))))
  }).pipe(Effect.provide(LedgerMemory.layer))
)

it.effect(
  "the reconciler settles what dead processes left, at once, every half minute, and more often with a short lease",
  () =>
    Effect.gen(function* () {
      const generationStore = yield* GenerationStore
      yield* reserved({ leaseMs: 0 })
      yield* reserved({ generationId: id(2), leaseMs: 10_000 })
      yield* Layer.build(Generations.layerReconciler({ leaseMs: 600_000 }))
      yield* TestClock.adjust(0)
      const state = (count: number) =>
        Effect.map(generationStore.find(id(count), KEY), (found) => Option.getOrUndefined(found)?._tag)
      assert.deepStrictEqual([yield* state(1), yield* state(2)], ["Settled", "Pending"])
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(yield* state(2), "Pending")
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* state(2), "Settled")
      yield* Layer.build(Generations.layerReconciler({ leaseMs: 10_000 }))
      yield* TestClock.adjust("1 seconds")
      yield* reserved({ generationId: id(3), leaseMs: 0 })
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* state(3), "Settled")
    }).pipe(Effect.scoped, Effect.provide(LedgerMemory.layer))
)
