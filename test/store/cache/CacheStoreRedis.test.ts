import * as SecretStoreMemory from "../../../src/store/secrets/SecretStoreMemory.ts"
import * as CacheRedis from "../../../src/store/cache/CacheRedis.ts"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { Redis } from "effect/persistence"
import { inject } from "vitest"
import { CacheStore } from "../../../src/store/cache/CacheStore.ts"
import { RedisConnection } from "../../../src/store/redis/RedisConnection.ts"
import { spawnRedis } from "../../support/Redis.ts"
import { sharedSecrets } from "../../support/SharedSecrets.ts"
import { cacheStoreSuite, newCacheKey } from "./cacheStoreSuite.ts"

const storeOn = (url: string, secrets = sharedSecrets) =>
  CacheRedis.layer.pipe(Layer.provide(secrets), Layer.provideMerge(RedisConnection.layer({ url: Redacted.make(url) })))

describe("CacheRedis.layer", () => {
  cacheStoreSuite(storeOn(inject("redisUrl")))

  it.layer(storeOn(inject("redisUrl")))((it) => {
    it.effect("lets Redis expire its entries, under a prefix of its own", () =>
      Effect.gen(function* () {
        const cache = yield* CacheStore
        const redis = yield* Redis.Redis
        const key = newCacheKey()
        yield* cache.set(key, "1", 59_999.5, 0)
        assert.isUndefined(cache.peek(key, 0), "that takes a round trip")
        const left = yield* redis.send<number>("PTTL", `tollgate:cache:${key}`)
        assert.isAbove(left, 0)
        assert.isAtMost(left, 60_000)
        yield* redis.send("PEXPIREAT", `tollgate:cache:${key}`, "1")
        assert.deepStrictEqual(yield* cache.get(key, 0), Option.none())
      })
    )

    it.effect("encrypts every part of a reply, and decrypts an entry only under its own name and key", () =>
      Effect.gen(function* () {
        const cache = yield* CacheStore
        const redis = yield* Redis.Redis
        const [key, other] = [newCacheKey(), newCacheKey()]
        const answer = JSON.stringify({ content: "Marmalade sandwiches, every Thursday. ".repeat(50) })
        yield* cache.set(key, answer, 60_000, 0)
        assert.deepStrictEqual(yield* cache.get(key, 0), Option.some(answer))
        const kept = (yield* redis.send<string | null>("GET", `tollgate:cache:${key}`)) ?? ""
        const words = [answer, Buffer.from(answer).toString("base64"), Buffer.from(answer).toString("base64url")]
        for (const word of [...words.map((text) => text.slice(9, 40)), "Marmalade", "Thursday", "content"]) {
          for (const read of [kept, ...kept.split(".").map((part) => Buffer.from(part, "base64").toString("latin1"))]) {
            assert.notInclude(read, word)
          }
        }
        yield* cache.set(key, answer, 60_000, 0)
        assert.notStrictEqual(
          yield* redis.send("GET", `tollgate:cache:${key}`),
          kept,
          "the same reply, encrypted again"
        )

        // Under another name, altered, truncated or unencrypted: a miss.
        const [nonce = "", data = "", tag = ""] = kept.split(".")
        const altered = (data.startsWith("A") ? "B" : "A") + data.slice(1)
        const forgeries = [`${nonce}.${altered}.${tag}`, `${nonce}.${data}`, `${nonce}.${data}.AAAA`, answer, "", "."]
        yield* redis.send("SET", `tollgate:cache:${other}`, kept)
        assert.deepStrictEqual(yield* cache.get(other, 0), Option.none())
        for (const forged of forgeries) {
          yield* redis.send("SET", `tollgate:cache:${key}`, forged)
          assert.deepStrictEqual(yield* cache.get(key, 0), Option.none(), forged.slice(0, 40))
          assert.deepStrictEqual(yield* cache.join(key, 0, 1_000), Option.none())
        }
        yield* cache.set(key, answer, 60_000, 0)
        const stranger = yield* Layer.build(Layer.fresh(storeOn(inject("redisUrl"), SecretStoreMemory.layer)))
        assert.deepStrictEqual(yield* Context.get(stranger, CacheStore).get(key, 0), Option.none())
        assert.deepStrictEqual(yield* cache.join(key, 0, 1_000), Option.some(answer))
      })
    )

    it.effect("turns an error of Redis into a StoreError of the cache", () =>
      Effect.gen(function* () {
        const cache = yield* CacheStore
        const redis = yield* Redis.Redis
        const key = newCacheKey()
        yield* redis.send("LPUSH", `tollgate:cache:${key}`, "a list")
        const error = yield* Effect.flip(cache.get(key, 0))
        assert.deepStrictEqual([error._tag, error.dependency], ["StoreError", "cache"])
        yield* redis.send("DEL", `tollgate:cache:${key}`)
      })
    )
  })

  it.live("lets one of several processes create an entry while the others wait for it", () =>
    Effect.gen(function* () {
      const process = Layer.build(Layer.fresh(storeOn(inject("redisUrl"))))
      const [first, second, third] = yield* Effect.replicateEffect(
        Effect.map(process, (built) => Context.get(built, CacheStore)),
        3
      )
      if (first === undefined || second === undefined || third === undefined) return assert.fail("three processes")
      const key = newCacheKey()
      assert.deepStrictEqual(yield* first.join(key, 0, 60_000), Option.none())
      const waiting = yield* Effect.forkChild(
        Effect.all([second.join(key, 0, 60_000), third.join(key, 0, 60_000)], { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      // Only the leader can leave.
      yield* second.leave(key)
      yield* Effect.all([second.ping, third.ping])
      assert.isUndefined(waiting.pollUnsafe())
      yield* first.set(key, "made", 60_000, 0)
      assert.deepStrictEqual(yield* Fiber.join(waiting), [Option.some("made"), Option.some("made")])

      // When a leader fails or leaves, another caller tries.
      const other = newCacheKey()
      assert.deepStrictEqual(yield* first.join(other, 0, 60_000), Option.none())
      const again = yield* Effect.forkChild(second.join(other, 0, 60_000), { startImmediately: true })
      yield* first.leave(other)
      assert.deepStrictEqual(yield* Fiber.join(again), Option.none())
    })
  )

  it.live("a process that died delays the others only briefly", () =>
    Effect.gen(function* () {
      const stores = yield* Layer.build(storeOn(inject("redisUrl")))
      yield* Effect.gen(function* () {
        const cache = yield* CacheStore
        const redis = yield* Redis.Redis
        const key = newCacheKey()
        yield* redis.send("SET", `tollgate:flight:${key}`, "a process that died", "PX", "200")
        assert.deepStrictEqual(yield* cache.join(key, 0, 60_000), Option.none())
        yield* cache.join(key, 0, 60_000)
        assert.isAtMost(yield* redis.send<number>("PTTL", `tollgate:flight:${key}`), 10_000)
        yield* cache.leave(key)
        assert.strictEqual(yield* redis.send<number>("EXISTS", `tollgate:flight:${key}`), 0)
      }).pipe(Effect.provide(stores))
    })
  )

  it.effect("counts its own entries only: exactly while there are few, approximately when there are many", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => spawnRedis()),
        (own) => Effect.promise(() => own.stop())
      )
      const stores = yield* Layer.build(storeOn(server.url))
      yield* Effect.gen(function* () {
        const cache = yield* CacheStore
        const redis = yield* Redis.Redis
        assert.strictEqual(yield* cache.size, 0)
        yield* Effect.forEach(["a", "b", "c"], (key) => cache.set(key, key, 60_000, 0))
        yield* redis.send("SET", "neighbour", "1")
        assert.strictEqual(yield* cache.size, 3)
        const fill = "for i = 1, ARGV[2] do redis.call('SET', ARGV[1] .. i, '1', 'PX', 60000) end"
        yield* redis.send("EVAL", fill, "0", "tollgate:cache:many", "20000")
        yield* redis.send("EVAL", fill, "0", "neighbour", "20000")
        const many = yield* cache.size
        assert.isAbove(many, 18_000)
        assert.isBelow(many, 22_000)
      }).pipe(Effect.provide(stores))
    })
  )
})
