import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Redis } from "effect/persistence"
import { inject } from "vitest"
import * as LockoutMemory from "../../../src/store/providerState/LockoutMemory.ts"
import * as LockoutRedis from "../../../src/store/providerState/LockoutRedis.ts"
import { LockoutStore } from "../../../src/store/providerState/LockoutStore.ts"
import { RedisConnection } from "../../../src/store/redis/RedisConnection.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { lockoutStoreSuite, newName } from "./lockoutStoreSuite.ts"

const onRedis = LockoutRedis.layer.pipe(
  Layer.provideMerge(RedisConnection.layer({ url: Redacted.make(inject("redisUrl")) }))
)

const wrong = Effect.fail(new Redis.RedisError({ cause: new Error("WRONGTYPE") }))

describe("LockoutMemory.layer", () => {
  lockoutStoreSuite(LockoutMemory.layer)
})

describe("LockoutRedis.layer", () => {
  lockoutStoreSuite(onRedis)

  it.layer(onRedis)((it) => {
    it.effect("lets Redis delete all names an hour after the last lockout began", () =>
      Effect.gen(function* () {
        const { close } = yield* LockoutStore
        const redis = yield* Redis.Redis
        yield* close(newName(), 30_000)
        const left = yield* redis.send<number>("PTTL", "tollgate:lockouts")
        assert.isTrue(left > 3_500_000 && left <= 3_600_000, String(left))
      })
    )
  })

  it.effect("turns an error of Redis into a StoreError", () =>
    Effect.gen(function* () {
      const { all, claim, close, lift } = yield* LockoutStore
      for (const call of [all, claim(["a"], 1), close("a", 1), lift(["a"])]) {
        const error = yield* Effect.flip(call)
        assert.isTrue(error instanceof StoreError)
        assert.strictEqual(error.dependency, "limit_store")
      }
    }).pipe(
      Effect.provide(
        LockoutRedis.layer.pipe(Layer.provide(Layer.mock(Redis.Redis, { send: () => wrong, eval: () => () => wrong })))
      )
    )
  )
})
