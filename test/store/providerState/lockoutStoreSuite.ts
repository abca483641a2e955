/** The guarantees of every layer of LockoutStore. */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { LockoutStore } from "../../../src/store/providerState/LockoutStore.ts"

let last = 0

/** A name that no other test uses. */
export const newName = () => `name-${process.pid}-${last++}`

/** Real time, because Redis goes by its own clock. */
export const lockoutStoreSuite = <E>(store: Layer.Layer<LockoutStore, E>): void =>
  it.layer(store, { excludeTestServices: true })((it) => {
    const leftOf = (name: string) =>
      Effect.map(
        Effect.flatMap(LockoutStore, ({ all }) => all),
        (all) => all.get(name)
      )
    const isNear = (ms: number | undefined, expected: number) =>
      assert.isTrue(ms !== undefined && ms <= expected && ms > expected - 10_000, `${ms} is not just below ${expected}`)
    const over = (name: string) => Effect.repeat(leftOf(name), { until: (left) => left === 0 })

    it.effect("locks a name for all callers, and reports whether it is new", () =>
      Effect.gen(function* () {
        const { claim, close } = yield* LockoutStore
        const [name, other] = [newName(), newName()]
        assert.isUndefined(yield* leftOf(name))
        assert.isTrue(yield* close(name, 30_000))
        assert.isFalse(yield* close(name, 60_000.5))
        isNear(yield* leftOf(name), 60_001)
        isNear(yield* claim([other, name], 10_000), 60_001)
        assert.isUndefined(yield* leftOf(other))
      })
    )

    it.effect("lets one caller try after the time is over, and no other for the time of the claim", () =>
      Effect.gen(function* () {
        const { claim, close } = yield* LockoutStore
        const [name, other] = [newName(), newName()]
        yield* close(name, 20)
        yield* over(name)
        const claims = yield* Effect.all(
          Array.from({ length: 20 }, () => claim([other, name], 30_000)),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(
          claims.filter((ms) => ms === 0),
          1
        )
        for (const ms of claims.filter((ms) => ms !== 0)) isNear(ms, 30_000)
        isNear(yield* leftOf(name), 30_000)
        assert.isUndefined(yield* leftOf(other))
      })
    )

    it.effect("removes a lifted name, and grants names that were never locked", () =>
      Effect.gen(function* () {
        const { claim, close, lift } = yield* LockoutStore
        const [one, two] = [newName(), newName()]
        yield* close(one, 30_000)
        yield* close(two, 30_000)
        yield* lift([one, newName()])
        yield* lift([])
        assert.isUndefined(yield* leftOf(one))
        for (let time = 0; time < 2; time++) assert.strictEqual(yield* claim([one], 30_000), 0)
        isNear(yield* leftOf(two), 30_000)
        assert.isTrue(yield* close(one, 30_000))
      })
    )
  })
