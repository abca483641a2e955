import * as StatsMemory from "../../../src/store/providerState/StatsMemory.ts"
import * as StatsRedis from "../../../src/store/providerState/StatsRedis.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Redis } from "effect/persistence"
import { inject } from "vitest"
import { RedisConnection } from "../../../src/store/redis/RedisConnection.ts"
import { StatsStore } from "../../../src/store/providerState/StatsStore.ts"
import { newSlot, statsStoreSuite } from "./statsStoreSuite.ts"

const onRedis = StatsRedis.layer.pipe(
  Layer.provideMerge(RedisConnection.layer({ url: Redacted.make(inject("redisUrl")) }))
)

describe("StatsMemory.layer", () => {
  statsStoreSuite(StatsMemory.layer)
})

describe("StatsRedis.layer", () => {
  statsStoreSuite(onRedis)

  it.layer(onRedis)((it) => {
    it.effect("lets Redis expire a slot", () =>
      Effect.gen(function* () {
        const stats = yield* StatsStore
        const redis = yield* Redis.Redis
        const slot = newSlot()
        yield* stats.add(slot, new Map([["x", 1]]), 59_999.5)
        const left = yield* redis.send<number>("PTTL", `tollgate:stats:${slot}`)
        assert.isTrue(left > 0 && left <= 60_000, String(left))
      })
    )

    it.effect("turns an error of Redis into a StoreError", () =>
      Effect.gen(function* () {
        const stats = yield* StatsStore
        const redis = yield* Redis.Redis
        const slot = newSlot()
        yield* redis.send("SET", `tollgate:stats:${slot}`, "no hash", "PX", "60000")
        const adding = yield* Effect.flip(stats.add(slot, new Map([["x", 1]]), 60_000))
        const reading = yield* Effect.flip(stats.read([slot]))
        assert.deepStrictEqual([adding._tag, reading.dependency], ["StoreError", "limit_store"])
      })
    )
  })
})
