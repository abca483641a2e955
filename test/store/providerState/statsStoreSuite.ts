/** The guarantees of every layer of StatsStore. */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { StatsStore } from "../../../src/store/providerState/StatsStore.ts"

let last = Math.floor(Date.now() / 1000) * 1_000

/** Slots that no other test uses. */
export const newSlot = () => last++

export const statsStoreSuite = <E>(store: Layer.Layer<StatsStore, E>): void =>
  it.layer(store)((it) => {
    it.effect("sums up concurrent additions to a slot, name by name", () =>
      Effect.gen(function* () {
        const stats = yield* StatsStore
        const slot = newSlot()
        yield* Effect.all(
          Array.from({ length: 20 }, () =>
            stats.add(
              slot,
              new Map([
                ["a b first:1", 2],
                ["a b calls", -1]
              ]),
              60_000
            )
          ),
          { concurrency: "unbounded" }
        )
        const [counts] = yield* stats.read([slot])
        assert.deepStrictEqual(
          Array.from(counts ?? []).toSorted(([a], [b]) => a.localeCompare(b)),
          [
            ["a b calls", -20],
            ["a b first:1", 40]
          ]
        )
      })
    )

    it.effect("returns the counts per slot, and none for an absent slot", () =>
      Effect.gen(function* () {
        const stats = yield* StatsStore
        const [one, none, other] = [newSlot(), newSlot(), newSlot()]
        yield* stats.add(one, new Map([["x", 1]]), 60_000)
        yield* stats.add(other, new Map([["y", 2]]), 60_000)
        yield* stats.add(other, new Map(), 60_000)
        const found = yield* stats.read([one, none, other])
        assert.deepStrictEqual(
          found.map((counts) => Array.from(counts)),
          [[["x", 1]], [], [["y", 2]]]
        )
        assert.deepStrictEqual(yield* stats.read([]), [])
      })
    )

    it.effect("accepts more names than fit one script call", () =>
      Effect.gen(function* () {
        const stats = yield* StatsStore
        const slot = newSlot()
        const names = Array.from({ length: 1_201 }, (_, at) => [`name ${at}`, at + 1] as const)
        yield* stats.add(slot, new Map(names), 60_000)
        const [counts] = yield* stats.read([slot])
        assert.strictEqual(counts?.size, 1_201)
        assert.strictEqual(counts?.get("name 1200"), 1_201)
      })
    )
  })
