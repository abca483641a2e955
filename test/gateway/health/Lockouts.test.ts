import { assert, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { makeLockouts } from "../../../src/gateway/health/Lockouts.ts"
import * as LockoutMemory from "../../../src/store/providerState/LockoutMemory.ts"
import { makeTroubled } from "../../../src/gateway/health/Troubled.ts"
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

const pool = candidateWith("alpha", {}, { apiKeys: ["one", "two"].map((key) => Redacted.make(key)) })
const [one, two] = [
  { ...pool, key: 1 },
  { ...pool, key: 2 }
] as const

it.effect("a refused key is locked alone, and the provider only with its last key", () =>
  Effect.gen(function* () {
    const lockouts = yield* alone
    yield* lockouts.add(one, 401)
    assert.strictEqual(lockouts.remainingMs(one), 30_000)
    assert.strictEqual(lockouts.remainingMs({ ...one, offer: large.offer }), 30_000)
    assert.strictEqual(yield* lockouts.enter(two), 0)
    assert.strictEqual(lockouts.remainingMs(pool), 0)
    yield* TestClock.adjust(10_000)
    yield* lockouts.add(two, 401)
    assert.strictEqual(lockouts.remainingMs(pool), 20_000)
    assert.strictEqual(lockouts.because(two, null), "credentials_refused")
    yield* lockouts.lift(two)
    assert.strictEqual(lockouts.remainingMs(two), 0)
    assert.strictEqual(lockouts.remainingMs(one), 20_000)
  })
)

it.effect("a key at its rate limit cools down for one model, for its Retry-After of two minutes at most", () =>
  Effect.gen(function* () {
    const lockouts = yield* alone
    yield* lockouts.coolDown(one, 5_000, null)
    assert.strictEqual(lockouts.remainingMs(one), 5_000)
    assert.strictEqual(lockouts.because(one, null), "rate_limited")
    assert.strictEqual(lockouts.remainingMs(two), 0)
    assert.strictEqual(lockouts.remainingMs({ ...one, offer: large.offer }), 0)
    // An answer to an earlier call does not end it, and a later refusal does not prolong it.
    yield* lockouts.lift(one)
    yield* lockouts.coolDown(one, 60_000, null)
    assert.strictEqual(lockouts.remainingMs(one), 5_000)
    yield* TestClock.adjust(5_000)
    assert.strictEqual(yield* lockouts.enter(one), 0)
    assert.strictEqual(yield* lockouts.enter(one), 0)
    yield* lockouts.lift(one)
    assert.isTrue(lockouts.isEmpty())
    yield* lockouts.coolDown(one, 86_400_000, null)
    assert.strictEqual(lockouts.remainingMs(one), 120_000)
  })
)

it.effect("without a Retry-After the cooldown doubles up to half a minute, until an answer", () =>
  Effect.gen(function* () {
    const lockouts = yield* alone
    const cooldown = Effect.gen(function* () {
      yield* lockouts.coolDown(one, null, null)
      const ms = lockouts.remainingMs(one)
      yield* TestClock.adjust(ms)
      return ms
    })
    const all = yield* Effect.forEach(Array.from({ length: 9 }), () => cooldown)
    assert.deepStrictEqual(all, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
    yield* lockouts.lift(one)
    assert.strictEqual(yield* cooldown, 250)
  })
)

it.effect("a key cools down for the client that met the limit, and for all once another client met it", () =>
  Effect.gen(function* () {
    const lockouts = yield* alone
    yield* lockouts.coolDown(one, 5_000, "key_a")
    assert.strictEqual(lockouts.remainingMs(one, "key_a"), 5_000)
    assert.strictEqual(lockouts.remainingMs(one, "key_b"), 0)
    yield* lockouts.coolDown(one, 5_000, "key_b")
    assert.strictEqual(lockouts.remainingMs(one, "key_c"), 5_000)
  })
)

it.effect("processes on one store share the cooldowns", () =>
  Effect.gen(function* () {
    const [first, second] = [yield* member, yield* member]
    yield* first.coolDown(one, 5_000, null)
    yield* second.learn
    assert.strictEqual(second.remainingMs(one), 5_000)
    yield* TestClock.adjust(5_000)
    yield* second.lift(one)
    yield* first.learn
    assert.isTrue(first.isEmpty())
  }).pipe(Effect.provide(LockoutMemory.layer))
)

it.effect("a circuit that another process marks as failing locks nothing", () =>
  Effect.gen(function* () {
    const store = yield* LockoutStore
    yield* makeTroubled(store).failed("alpha|test/small")
    const lockouts = yield* member
    yield* lockouts.learn
    assert.isTrue(lockouts.isEmpty())
  }).pipe(Effect.provide(LockoutMemory.layer))
)
