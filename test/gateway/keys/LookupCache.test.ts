import { assert, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeLookupCache } from "../../../src/gateway/keys/LookupCache.ts"

const counting = (look: (n: number) => Effect.Effect<number, string>) =>
  Effect.gen(function* () {
    let looks = 0
    const lookups = yield* makeLookupCache<"it", number, string>(() => Effect.suspend(() => look(++looks)), {
      capacity: 1,
      ttl: Duration.seconds(1)
    })
    return lookups
  })

const together = <A, E>(one: Effect.Effect<A, E>) =>
  Effect.all(
    Array.from({ length: 5 }, () => one),
    { concurrency: "unbounded" }
  )

it.effect("concurrent callers wait for one lookup, also after an entry has expired", () =>
  Effect.gen(function* () {
    const { get } = yield* counting((n) => Effect.as(Effect.yieldNow, n))
    assert.deepStrictEqual(yield* together(get("it")), [1, 1, 1, 1, 1])
    yield* TestClock.adjust(999)
    assert.strictEqual(yield* get("it"), 1)
    yield* TestClock.adjust(1)
    assert.deepStrictEqual(yield* together(get("it")), [2, 2, 2, 2, 2])
  })
)

it.effect("an entry's age counts from the start of its lookup", () =>
  Effect.gen(function* () {
    const { get } = yield* counting((n) => Effect.as(Effect.sleep(600), n))
    const slowly = Effect.gen(function* () {
      const asked = yield* Effect.forkChild(get("it"))
      yield* TestClock.adjust(600)
      return yield* Fiber.join(asked)
    })
    assert.strictEqual(yield* slowly, 1)
    yield* TestClock.adjust(399)
    assert.strictEqual(yield* get("it"), 1)
    yield* TestClock.adjust(1)
    assert.strictEqual(yield* slowly, 2)
  })
)

it.effect("a failure is not stored, and a forgotten entry is looked up again", () =>
  Effect.gen(function* () {
    const {
      invalidate: forget,
      invalidateAll: forgetAll,
      get
    } = yield* counting((n) => (n === 1 ? Effect.fail("away") : Effect.succeed(n)))
    assert.strictEqual(yield* Effect.flip(get("it")), "away")
    assert.strictEqual(yield* get("it"), 2)
    yield* forget("it")
    assert.strictEqual(yield* get("it"), 3)
    yield* forgetAll
    assert.strictEqual(yield* get("it"), 4)
  })
)
