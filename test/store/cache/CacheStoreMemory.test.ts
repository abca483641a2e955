import * as CacheMemory from "../../../src/store/cache/CacheMemory.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { CacheStore } from "../../../src/store/cache/CacheStore.ts"
import { CacheTable } from "../../../src/store/cache/CacheTable.ts"
import { cacheStoreSuite } from "./cacheStoreSuite.ts"

describe("CacheMemory.layer", () => {
  cacheStoreSuite(CacheMemory.layer({ maxEntries: 1_000 }))

  it.effect("removes an entry at the moment when it expires", () =>
    Effect.gen(function* () {
      const cache = yield* CacheStore
      yield* cache.set("a", "1", 1_000, 5_000)
      assert.deepStrictEqual(yield* cache.get("a", 5_999), Option.some("1"))
      assert.strictEqual(yield* cache.size, 1)
      assert.deepStrictEqual(yield* cache.get("a", 6_000), Option.none())
      assert.strictEqual(yield* cache.size, 0)
    }).pipe(Effect.provide(CacheMemory.layer({ maxEntries: 10 })))
  )

  it.effect("peeks at what `get` would return", () =>
    Effect.gen(function* () {
      const cache = yield* CacheStore
      yield* cache.set("a", "1", 1_000, 5_000)
      assert.strictEqual(cache.peek("a", 5_999), "1")
      assert.isUndefined(cache.peek("b", 5_999))
      assert.isUndefined(cache.peek("a", 6_000))
    }).pipe(Effect.provide(CacheMemory.layer({ maxEntries: 10 })))
  )

  it.effect("evicts the least recently used entry", () =>
    Effect.gen(function* () {
      const cache = yield* CacheStore
      yield* Effect.forEach(["a", "b", "c"], (key) => cache.set(key, key, 60_000, 0))
      yield* cache.get("a", 0)
      yield* cache.set("d", "d", 60_000, 0)
      const found = yield* Effect.forEach(["a", "b", "c", "d"], (key) => Effect.map(cache.get(key, 0), Option.isSome))
      assert.deepStrictEqual(found, [true, false, true, true])
      assert.strictEqual(yield* cache.size, 3)
    }).pipe(Effect.provide(CacheMemory.layer({ maxEntries: 3 })))
  )

  it.effect("evicts expired entries before live ones", () =>
    Effect.gen(function* () {
      const cache = yield* CacheStore
      yield* cache.set("live", "1", 60_000, 0)
      yield* cache.set("expired", "2", 1_000, 0)
      yield* cache.set("also expired", "3", 1_000, 0)
      yield* cache.set("new", "4", 60_000, 2_000)
      assert.deepStrictEqual(yield* cache.get("live", 2_000), Option.some("1"))
      assert.strictEqual(yield* cache.size, 2)
    }).pipe(Effect.provide(CacheMemory.layer({ maxEntries: 3 })))
  )

  it.effect("stores nothing when its limit is zero", () =>
    Effect.gen(function* () {
      const cache = yield* CacheStore
      yield* cache.set("a", "1", 60_000, 0)
      assert.strictEqual(yield* cache.size, 0)
    }).pipe(Effect.provide(CacheMemory.layer({ maxEntries: 0 })))
  )
})

describe("CacheTable", () => {
  it("stays within its bytes, counted as two per character of key and value", () => {
    const table = new CacheTable(1_000, 100)
    table.set("a", "x".repeat(19), 60_000, 0)
    table.set("b", "x".repeat(19), 60_000, 0)
    assert.deepStrictEqual([table.size, table.bytes], [2, 80])
    table.set("c", "x".repeat(19), 60_000, 0)
    assert.deepStrictEqual([table.size, table.bytes, table.get("a", 0)], [2, 80, undefined])
    table.set("b", "x", 60_000, 0)
    assert.deepStrictEqual([table.size, table.bytes], [2, 44])
    table.set("d", "x".repeat(50), 60_000, 0)
    assert.deepStrictEqual([table.size, table.bytes, table.get("d", 0)], [2, 44, undefined])
    assert.strictEqual(table.get("b", 60_000), undefined)
    assert.deepStrictEqual([table.size, table.bytes], [1, 40])
  })

  it("searches for expired entries at most once a second, and evicts the least recently used in between", () => {
    const table = new CacheTable(2, 10_000)
    table.set("old", "1", 60_000, 0)
    table.set("brief", "2", 500, 0)
    table.set("third", "3", 60_000, 400)
    assert.strictEqual(table.get("old", 400), undefined)
    table.set("fourth", "4", 60_000, 1_300)
    assert.strictEqual(table.get("brief", 1_300), undefined)
    table.set("swept", "5", 100, 1_300)
    table.set("fifth", "6", 60_000, 1_500)
    assert.strictEqual(table.get("fifth", 1_500), "6")
    assert.strictEqual(table.size, 2)
  })

  it("evicts several of the oldest of many entries at once, and never one that was read recently", () => {
    const table = new CacheTable(1_280, 10_000_000)
    for (let at = 0; at < 1_280; at++) table.set(`key ${at}`, "value", 1_000, 0)
    assert.strictEqual(table.size, 1_280)
    table.get("key 0", 0)
    table.set("one more", "value", 1_000, 0)
    assert.isAtLeast(table.size, 1_270)
    assert.isAtMost(table.size, 1_280)
    const gone = 1_281 - table.size
    const at = (index: number) => table.get(`key ${index}`, 0)
    assert.deepStrictEqual([at(0), at(1), at(gone), at(gone + 1)], ["value", undefined, undefined, "value"])
  })
})
