/** Refusals are sampled and written in batches, and the counts of the rows add up. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../../src/domain/Ids.ts"
import { type Refusal } from "../../../src/domain/Refusal.ts"
import { Catalog } from "../../../src/gateway/routing/Catalog.ts"
import { RefusalLog, type Refused } from "../../../src/gateway/telemetry/RefusalLog.ts"
import { layerScripted } from "../../../src/testing/ScriptedProvider.ts"
import { RefusalStore } from "../../../src/store/refusals/RefusalStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"

const refused = (overrides: Partial<Refused> = {}): Refused => ({
  requestId: "req_1",
  createdAtMs: 0,
  endpoint: "POST /v1/chat/completions",
  status: 429,
  type: "rate_limit_exceeded",
  code: "requests_limit_exceeded",
  message: "The limit is reached.",
  keyId: "key_a",
  ownerId: null,
  model: null,
  ...overrides
})

/** A log, and the batches that its store was given. */
const logged = (isAway: () => boolean = () => false) =>
  Effect.gen(function* () {
    const batches: Array<ReadonlyArray<Refusal>> = []
    const store = Layer.mock(RefusalStore, {
      add: (rows) =>
        isAway()
          ? Effect.fail(new StoreError({ dependency: "database", cause: null }))
          : Effect.sync(() => void batches.push(rows))
    })
    const providers = layerScripted([{ slug: "alpha", models: { "test/small": {} } }])
    const context = yield* Layer.build(
      RefusalLog.layer.pipe(
        Layer.provide(Layer.mergeAll(store, Ids.layerSequence, Layer.provide(Catalog.layer, providers)))
      )
    )
    return { batches, record: Context.get(context, RefusalLog).record }
  })

const countOf = (rows: ReadonlyArray<Refusal>): number => rows.reduce((sum, { count }) => sum + count, 0)

it.effect("a flood of one kind takes six rows a minute, and the counts of the rows are exact", () =>
  Effect.gen(function* () {
    const { batches, record } = yield* logged()
    for (let at = 0; at < 1_000; at++) record(refused())
    record(refused({ keyId: "key_b" }))
    assert.deepStrictEqual(batches, [])
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(
      batches.map((rows) => rows.map(({ count, keyId }) => [keyId, count])),
      [[...Array.from({ length: 5 }, () => ["key_a", 1]), ["key_b", 1]]]
    )
    yield* TestClock.adjust("58 seconds")
    assert.lengthOf(batches, 1)
    yield* TestClock.adjust("2 seconds")
    assert.deepStrictEqual(
      batches[1]?.map(({ count, keyId }) => [keyId, count]),
      [["key_a", 995]]
    )
    // The next minute begins anew.
    record(refused())
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual(countOf(batches.flat()), 1_002)
    assert.lengthOf(new Set(batches.flat().map(({ id }) => id)), 8)
  })
)

it.effect("floods of many keys and kinds take a bounded number of rows", () =>
  Effect.gen(function* () {
    const { batches, record } = yield* logged()
    for (let at = 0; at < 20_000; at++) record(refused({ keyId: `key_${at}`, status: at % 2 === 0 ? 429 : 402 }))
    yield* TestClock.adjust("2 minutes")
    const rows = batches.flat()
    assert.strictEqual(countOf(rows), 20_000)
    assert.isAtMost(rows.length, 400)
  })
)

it.effect("rows wait for a database that is away, and what waits is bounded", () =>
  Effect.gen(function* () {
    let isAway = true
    const { batches, record } = yield* logged(() => isAway)
    for (let minute = 0; minute < 40; minute++) {
      for (let at = 0; at < 200; at++) record(refused({ keyId: `key_${at}` }))
      yield* TestClock.adjust("1 minute")
    }
    isAway = false
    yield* TestClock.adjust("2 seconds")
    assert.isAtLeast(batches.flat().length, 1_000)
    assert.isAtMost(batches.flat().length, 1_100)
  })
)

it.effect("only models that exist are named", () =>
  Effect.gen(function* () {
    const { batches, record } = yield* logged()
    for (const model of ["test/small", "small", "my prompt", "x".repeat(100_000), null]) record(refused({ model }))
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(
      batches.flat().map(({ model }) => model),
      ["test/small", "test/small", null, null, null]
    )
  })
)

it.effect("what is counted when the process ends is written", () =>
  Effect.gen(function* () {
    const batches = yield* Effect.scoped(
      Effect.map(logged(), ({ batches, record }) => {
        for (let at = 0; at < 10; at++) record(refused())
        return batches
      })
    )
    assert.strictEqual(countOf(batches.flat()), 10)
  })
)
