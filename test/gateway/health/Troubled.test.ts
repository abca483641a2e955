import * as LockoutMemory from "../../../src/store/providerState/LockoutMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeTroubled } from "../../../src/gateway/health/Troubled.ts"
import { LockoutStore } from "../../../src/store/providerState/LockoutStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"

const [key, other] = ["alpha|model", "beta|model"]

it.effect("a circuit has trouble from its first failure until a success, in every process that learned of it", () =>
  Effect.gen(function* () {
    const store = yield* LockoutStore
    const [first, second] = [makeTroubled(store), makeTroubled(store)]
    yield* first.failed(key)
    assert.isFalse(second.has(key))
    yield* second.learn
    assert.deepStrictEqual([first.has(key), second.has(key), second.has(other)], [true, true, false])
    yield* second.succeeded(key, second.failures(key))
    assert.isFalse(second.has(key))
    yield* first.learn
    assert.isTrue(first.has(key), "its own failure counts until a success of its own")
    yield* first.succeeded(key, 1)
    assert.isFalse(first.has(key))
    assert.deepStrictEqual([...(yield* store.all)], [])
  }).pipe(Effect.provide(LockoutMemory.layer))
)

it.effect("a success of a call that began before a failure does not end the trouble", () =>
  Effect.gen(function* () {
    const troubled = makeTroubled(yield* LockoutStore)
    const before = troubled.failures(key)
    yield* troubled.failed(key)
    yield* troubled.succeeded(key, before)
    assert.isTrue(troubled.has(key))
  }).pipe(Effect.provide(LockoutMemory.layer))
)

it.effect("a mark that could not be written is written with the next failure", () =>
  Effect.gen(function* () {
    const store = yield* LockoutStore
    let writes = 0
    const flaky = LockoutStore.of({
      ...store,
      close: (name, ms) =>
        ++writes === 1
          ? Effect.fail(new StoreError({ dependency: "limit_store", cause: new Error("away") }))
          : store.close(name, ms)
    })
    const [first, second] = [makeTroubled(flaky), makeTroubled(flaky)]
    yield* first.failed(key)
    yield* second.learn
    assert.isFalse(second.has(key))
    for (let count = 0; count < 3; count++) yield* first.failed(key)
    yield* second.learn
    assert.isTrue(second.has(key))
    assert.strictEqual(writes, 2)
  }).pipe(Effect.provide(LockoutMemory.layer))
)

it.effect("without a store each process knows its own", () =>
  Effect.gen(function* () {
    const [first, second] = [makeTroubled(null), makeTroubled(null)]
    yield* first.failed(key)
    yield* second.learn
    assert.deepStrictEqual([first.has(key), second.has(key)], [true, false])
  })
)
