import { assert, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { makeLockouts } from "../../../src/gateway/health/Lockouts.ts"
import * as LockoutMemory from "../../../src/store/providerState/LockoutMemory.ts"
import { LockoutStore } from "../../../src/store/providerState/LockoutStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { candidateWith } from "../plans.ts"

const small = candidateWith("alpha")
const large = candidateWith("alpha", { id: "test/large" })
const other = candidateWith("beta")

const alone = Effect.map(Clock.Clock, (clock) => makeLockouts(null, clock))
/** A process that shares the store. */
const member = Effect.gen(function* () {
  return makeLockouts(yield* LockoutStore, yield* Clock.Clock)
})

it.effect("a refused credential locks the whole provider for half a minute, and no other", () =>
  Effect.gen(function* () {
    for (const status of [400, 401, 402, 429]) {
      const lockouts = yield* alone
      assert.isTrue(lockouts.isEmpty())
      assert.strictEqual(yield* lockouts.enter(small), 0)
      assert.isTrue(yield* lockouts.add(small, status))
      assert.isFalse(lockouts.isEmpty())
      assert.strictEqual(yield* lockouts.enter(small), 30_000)
      assert.strictEqual(lockouts.remainingMs(large), 30_000)
      yield* TestClock.adjust(29_999)
      assert.strictEqual(yield* lockouts.enter(large), 1)
      assert.strictEqual(yield* lockouts.enter(other), 0)
    }
  })
)

it.effect("a forbidden model locks that model alone", () =>
  Effect.gen(function* () {
    const lockouts = yield* alone
    yield* lockouts.add(small, 403)
    assert.strictEqual(yield* lockouts.enter(small), 30_000)
    assert.strictEqual(yield* lockouts.enter(large), 0)
  })
)

it.effect("once the time is over one request tries, and the others wait for it ten seconds at most", () =>
  Effect.gen(function* () {
    const lockouts = yield* alone
    yield* lockouts.add(small, 401)
    yield* TestClock.adjust(30_000)
    assert.strictEqual(yield* lockouts.enter(small), 0)
    assert.strictEqual(yield* lockouts.enter(large), 10_000)
    yield* TestClock.adjust(10_000)
    assert.strictEqual(yield* lockouts.enter(large), 0)
    yield* lockouts.lift(large)
    assert.strictEqual(yield* lockouts.enter(small), 0)
    assert.strictEqual(yield* lockouts.enter(small), 0)
  })
)

it.effect("a refusal is new once until an answer, which ends the lockout", () =>
  Effect.gen(function* () {
    const lockouts = yield* alone
    assert.isTrue(yield* lockouts.add(small, 401))
    yield* TestClock.adjust("1 minute")
    assert.isFalse(yield* lockouts.add(large, 401))
    yield* lockouts.lift(other)
    assert.isFalse(yield* lockouts.add(small, 401))
    yield* lockouts.lift(small)
    assert.isTrue(lockouts.isEmpty())
    assert.strictEqual(yield* lockouts.enter(small), 0)
    assert.isTrue(yield* lockouts.add(small, 401))
  })
)

it.effect("the other processes learn of a lockout, of its news and of its end", () =>
  Effect.gen(function* () {
    const [first, second] = [yield* member, yield* member]
    assert.isTrue(yield* first.add(small, 401))
    yield* second.learn
    assert.isFalse(second.isEmpty())
    assert.strictEqual(yield* second.enter(large), 30_000)
    assert.isFalse(yield* second.add(small, 401))
    yield* TestClock.adjust(30_000)
    // Only one of both tries; the other one does not know for how long.
    assert.strictEqual(yield* first.enter(small), 0)
    yield* TestClock.adjust(4_000)
    assert.strictEqual(yield* second.enter(small), 6_000)
    assert.strictEqual(second.remainingMs(small), 6_000)
    yield* first.lift(small)
    yield* second.learn
    assert.isTrue(second.isEmpty())
    assert.strictEqual(yield* second.enter(small), 0)
  }).pipe(Effect.provide(LockoutMemory.layer))
)

const away = Effect.fail(new StoreError({ dependency: "limit_store", cause: null }))

it.effect("while the store is away, each process keeps its own lockouts", () =>
  Effect.gen(function* () {
    const lockouts = yield* member
    assert.isTrue(yield* lockouts.add(small, 401))
    assert.strictEqual((yield* Effect.flip(lockouts.learn))._tag, "StoreError")
    assert.strictEqual(yield* lockouts.enter(small), 30_000)
    yield* TestClock.adjust(30_000)
    assert.strictEqual(yield* lockouts.enter(small), 0)
    assert.strictEqual(yield* lockouts.enter(small), 10_000)
    yield* lockouts.lift(small)
    assert.isTrue(lockouts.isEmpty())
  }).pipe(
    Effect.provide(Layer.succeed(LockoutStore, { close: () => away, claim: () => away, lift: () => away, all: away }))
  )
)

it.effect("a refusal during a read of the shared lockouts is not lost", () => {
  const none = Effect.andThen(Effect.sleep("10 millis"), Effect.succeed(new Map<string, number>()))
  const slow = Layer.succeed(LockoutStore, {
    close: () => Effect.succeed(true),
    claim: () => Effect.succeed(0),
    lift: () => Effect.void,
    all: none
  })
  return Effect.gen(function* () {
    const lockouts = yield* member
    const learning = yield* Effect.forkChild(lockouts.learn, { startImmediately: true })
    yield* lockouts.add(small, 401)
    yield* TestClock.adjust("10 millis")
    yield* Effect.yieldNow
    assert.strictEqual(learning.pollUnsafe()?._tag, "Success")
    assert.strictEqual(lockouts.remainingMs(small), 29_990)
  }).pipe(Effect.provide(slow))
})

it.effect("a refusal locks the provider for the client's key that asked, a second key's refusal for all", () =>
  Effect.gen(function* () {
    for (const status of [401, 402, 403]) {
      const lockouts = yield* alone
      assert.isTrue(yield* lockouts.add(small, status, "key_1"))
      assert.isFalse(yield* lockouts.add(small, status, "key_1"))
      assert.strictEqual(yield* lockouts.enter(small, "key_1"), 30_000)
      assert.strictEqual(yield* lockouts.enter(small, "key_2"), 0)
      assert.strictEqual(lockouts.remainingMs(small), 0)
      assert.isFalse(yield* lockouts.add(small, status, "key_2"))
      assert.strictEqual(yield* lockouts.enter(small, "key_3"), 30_000)
      assert.strictEqual(lockouts.remainingMs(small), 30_000)
      yield* lockouts.lift(small)
      assert.isTrue(lockouts.isEmpty())
    }
  })
)

it.effect("two keys that were refused in two processes lock it for all", () =>
  Effect.gen(function* () {
    const [first, second] = [yield* member, yield* member]
    yield* first.add(small, 402, "key_1")
    yield* second.learn
    assert.strictEqual(yield* second.enter(small, "key_2"), 0)
    assert.isFalse(yield* second.add(small, 402, "key_2"))
    yield* first.learn
    assert.strictEqual(yield* first.enter(small, "key_3"), 30_000)
  }).pipe(Effect.provide(LockoutMemory.layer))
)
