/** The guarantees of every layer of CacheStore, at given moments. */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer, Option } from "effect"
import { randomUUID } from "node:crypto"
import { CacheStore } from "../../../src/store/cache/CacheStore.ts"

export const newCacheKey = () => randomUUID()

export const cacheStoreSuite = <E>(layer: Layer.Layer<CacheStore, E>) => {
  it.layer(layer)((it) => {
    it.effect("returns the stored value, with any characters, and none for another key", () =>
      Effect.gen(function* () {
        const cache = yield* CacheStore
        const key = newCacheKey()
        const value = JSON.stringify({ text: "naïve ☃ 𝄞 \u0000 \r\n", deep: [{ a: null }] })
        yield* cache.set(key, value, 60_000, 0)
        assert.deepStrictEqual(yield* cache.get(key, 0), Option.some(value))
        assert.deepStrictEqual(yield* cache.get(newCacheKey(), 0), Option.none())
      })
    )

    it.effect("distinguishes an empty value from none", () =>
      Effect.gen(function* () {
        const cache = yield* CacheStore
        const key = newCacheKey()
        yield* cache.set(key, "", 60_000, 0)
        assert.deepStrictEqual(yield* cache.get(key, 0), Option.some(""))
      })
    )

    it.effect("replaces a value", () =>
      Effect.gen(function* () {
        const cache = yield* CacheStore
        const key = newCacheKey()
        yield* cache.set(key, "old", 60_000, 0)
        yield* cache.set(key, "new", 60_000, 0)
        assert.deepStrictEqual(yield* cache.get(key, 0), Option.some("new"))
      })
    )

    it.effect("does not store a value that is too large or has no time to live, and removes the previous one", () =>
      Effect.gen(function* () {
        const cache = yield* CacheStore
        const largest = 1_048_576 - 36
        const key = newCacheKey()
        yield* cache.set(key, "x".repeat(largest), 60_000, 0)
        assert.isTrue(Option.isSome(yield* cache.get(key, 0)))
        yield* cache.set(key, "x".repeat(largest + 1), 60_000, 0)
        assert.deepStrictEqual(yield* cache.get(key, 0), Option.none())
        yield* cache.set(key, "short-lived", 60_000, 0)
        yield* cache.set(key, "never", 0, 0)
        assert.deepStrictEqual(yield* cache.get(key, 0), Option.none())
      })
    )

    it.effect("answers a ping", () =>
      Effect.gen(function* () {
        const cache = yield* CacheStore
        assert.isUndefined(yield* cache.ping)
      })
    )
  })
}
