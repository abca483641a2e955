import * as LimitsRedis from "../../../src/store/limits/LimitsRedis.ts"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { Redis } from "effect/persistence"
import { TestClock } from "effect/testing"
import { inject } from "vitest"
import { Limits } from "../../../src/store/limits/Limits.ts"
import { makeLimitsRedis } from "../../../src/store/limits/LimitsRedis.ts"
import { bucketsKey, leasesKey } from "../../../src/store/limits/LimitsScript.ts"
import { LimitTable } from "../../../src/store/limits/LimitTable.ts"
import { RedisConnection } from "../../../src/store/redis/RedisConnection.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { History, tiers } from "./limitHistory.ts"
import { assertGrants50Of200, races } from "./limitsRace.ts"
import { leaseOf, limitsSuite, newKeyId, newOwnerId, requestOf, roomy } from "./limitsSuite.ts"

const connection = RedisConnection.layer({ url: Redacted.make(inject("redisUrl")) })

/** The same store with the clock of each request, so that its arithmetic can be asserted. */
const layerTold = Layer.effect(Limits, makeLimitsRedis("request"))

/** Four clients of one Redis, each with its own connection. */
const fourOf = Effect.fnUntraced(function* (layer: Layer.Layer<Limits, never, Redis.Redis>) {
  const contexts = yield* Effect.forEach(Array.from({ length: 4 }), () =>
    Layer.build(Layer.fresh(layer.pipe(Layer.provideMerge(Layer.fresh(connection)))))
  )
  const ids = yield* Effect.forEach(contexts, (context) => Context.get(context, Redis.Redis).send("CLIENT", "ID"))
  assert.strictEqual(new Set(ids).size, 4)
  return contexts.map((context) => Context.get(context, Limits))
})

describe("Limits on Redis with the requests' clock", () => {
  limitsSuite(layerTold.pipe(Layer.provide(connection)))

  it.effect.each(races)("grants 50 of 200 concurrent acquires through 4 connections on a limit of 50 $name", (race) =>
    Effect.gen(function* () {
      yield* assertGrants50Of200(yield* fourOf(layerTold), race)
    })
  )

  it.layer(layerTold.pipe(Layer.provide(connection)))((it) => {
    it.effect.prop(
      "agrees with the memory layer on every verdict of any history",
      { history: History, isOwned: Schema.Boolean },
      ({ history, isOwned }) =>
        Effect.gen(function* () {
          const [limits, table] = [yield* Limits, new LimitTable()]
          const keyId = newKeyId()
          const owner = isOwned ? { id: newOwnerId(), limits: tiers[0] } : null
          let nowMs = 1_790_000_000_000
          for (const given of history) {
            nowMs += given.afterMs
            if (given.call === "release" || given.call === "renew") {
              const lease = leaseOf(keyId, given.leaseId, owner?.id ?? null)
              yield* given.call === "release" ? limits.release(lease) : limits.renew([lease], 10_000, nowMs)
              if (given.call === "release") table.release(lease)
              else table.renew([lease], 10_000, nowMs)
              continue
            }
            const holder = { keyId, owner, limits: tiers[given.tier], nowMs }
            if (given.call === "acquire") {
              const request = { ...given, ...holder }
              assert.deepStrictEqual(yield* limits.acquire(request), table.acquire(request))
            } else if (given.call === "take") {
              const request = { ...holder, tokens: given.tokens }
              assert.deepStrictEqual(yield* limits.take(request), table.take(request))
            } else {
              const correction = { ...holder, delta: given.delta }
              assert.deepStrictEqual(yield* limits.correct(correction), table.correct(correction))
            }
          }
        }),
      { arbitrary: { size: 40 } }
    )
  })
})

describe("LimitsRedis.layer", () => {
  it.layer(LimitsRedis.layer.pipe(Layer.provideMerge(connection)))((it) => {
    it.effect("uses Redis' clock, whatever the callers' clocks say", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string, nowMs: number) =>
          limits.acquire(requestOf(keyId, id, { nowMs, limits: { ...roomy, requestsPerMinute: 1 } }))
        assert.strictEqual((yield* acquire("a", 0)).refusedBy, null)
        const refused = yield* acquire("b", 9_000_000_000_000)
        assert.strictEqual(refused.refusedBy, "requests")
        assert.isAtMost(refused.retryAfterMs, 60_000)
        assert.isAbove(refused.retryAfterMs, 0)
      })
    )

    it.effect("refills as time passes at Redis", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        // One request is refilled every 10 ms.
        const limit = { ...roomy, requestsPerMinute: 6_000 }
        const redis = yield* Redis.Redis
        const serverMs = Effect.map(
          redis.send<readonly [string, string]>("TIME"),
          ([seconds, micros]) => Number(seconds) * 1_000 + Number(micros) / 1_000
        )
        const fullMs = yield* serverMs
        yield* limits.acquire(requestOf(keyId, "a", { limits: { ...limit, requestsPerMinute: 1 } }))
        const granted = yield* limits
          .acquire(requestOf(keyId, "b", { limits: limit }))
          .pipe(Effect.repeat({ until: (verdict) => verdict.refusedBy === null }))
        assert.strictEqual(granted.refusedBy, null)
        assert.isAbove((yield* serverMs) - fullMs, 9)
      })
    )

    it.effect("grants 50 of 200 concurrent acquires through 4 connections on a limit of 50 concurrency", () =>
      Effect.gen(function* () {
        yield* assertGrants50Of200(yield* fourOf(LimitsRedis.layer), races[0] ?? assert.fail("no race"))
      })
    )

    it.effect("leaves only keys that expire", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const redis = yield* Redis.Redis
        const keyId = newKeyId()
        const pttl = (key: string) => redis.send<number>("PTTL", key)
        const acquire = (leaseId: string, leaseMs: number) =>
          limits.acquire(requestOf(keyId, leaseId, { leaseMs, limits: { ...roomy, requestsPerMinute: 2 } }))
        assert.strictEqual((yield* acquire("long", 90_000)).refusedBy, null)
        assert.strictEqual((yield* acquire("short", 1_000)).refusedBy, null)
        assert.isAbove(yield* pttl(bucketsKey(keyId)), 60_000)
        assert.isAtMost(yield* pttl(bucketsKey(keyId)), 120_000)
        assert.isAbove(yield* pttl(leasesKey(keyId)), 90_000)
        assert.isAtMost(yield* pttl(leasesKey(keyId)), 150_000)
        const corrected = newKeyId()
        yield* limits.correct({ keyId: corrected, limits: roomy, delta: 6_000_000, nowMs: 0 })
        assert.isAbove(yield* pttl(bucketsKey(corrected)), 100_000)
        const renewed = newKeyId()
        yield* limits.renew([leaseOf(renewed, "a")], 15_000, 0)
        assert.isAbove(yield* pttl(leasesKey(renewed)), 15_000)
        assert.isAtMost(yield* pttl(leasesKey(renewed)), 75_000)
        assert.isAtMost(yield* pttl(bucketsKey(corrected)), 120_000)
      })
    )

    it.effect("continues when Redis has lost the scripts", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const redis = yield* Redis.Redis
        const keyId = newKeyId()
        yield* limits.acquire(requestOf(keyId, "a"))
        yield* redis.send("SCRIPT", "FLUSH")
        const verdict = yield* limits.acquire(requestOf(keyId, "b", { tokens: 100 }))
        assert.strictEqual(verdict.refusedBy, null)
        yield* redis.send("SCRIPT", "FLUSH")
        yield* limits.correct({ keyId, limits: roomy, delta: 1_000_000, nowMs: 0 })
        assert.isAtMost((yield* limits.acquire(requestOf(keyId, "c"))).tokens.remaining, 5_100_000)
      })
    )

    it.effect("turns an error of Redis into a StoreError of the limit store", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const redis = yield* Redis.Redis
        const keyId = newKeyId()
        yield* redis.send("SET", bucketsKey(keyId), "not a hash", "PX", "60000")
        yield* redis.send("SET", leasesKey(keyId), "not a set", "PX", "60000")
        const errors = yield* Effect.all([
          Effect.flip(limits.acquire(requestOf(keyId, "a"))),
          Effect.flip(limits.release(leaseOf(keyId, "a"))),
          Effect.flip(limits.correct({ keyId, limits: roomy, delta: 1, nowMs: 0 }))
        ])
        for (const error of errors) {
          assert.instanceOf(error, StoreError)
          assert.strictEqual(error.dependency, "limit_store")
          assert.include(String(error.cause), "WRONGTYPE")
        }
      })
    )
  })

  it.effect("releases the lease of an acquire whose caller no longer waits", () =>
    Effect.gen(function* () {
      const redis = yield* Redis.Redis
      const keyId = newKeyId()
      const deaf = Redis.Redis.of({
        ...redis,
        // The command arrives and runs; the reply to a script is lost.
        send: (command, ...args) =>
          command.startsWith("EVAL")
            ? Effect.andThen(redis.send(command, ...args), Effect.never)
            : redis.send(command, ...args)
      })
      const limits = yield* makeLimitsRedis("server").pipe(Effect.provideService(Redis.Redis, deaf))
      const leases = redis.send<number>("ZCARD", leasesKey(keyId))
      const acquiring = yield* Effect.forkChild(limits.acquire(requestOf(keyId, "lost")), { startImmediately: true })
      yield* leases.pipe(Effect.repeat({ until: (count) => count === 1 }))
      yield* Fiber.interrupt(acquiring)
      const left = yield* leases.pipe(Effect.repeat({ until: (count) => count === 0 }))
      assert.strictEqual(left, 0)
    }).pipe(Effect.provide(connection))
  )

  it.effect("retries a release while Redis is away", () =>
    Effect.gen(function* () {
      const redis = yield* Redis.Redis
      const keyId = newKeyId()
      let removals = 0
      const flaky = Redis.Redis.of({
        ...redis,
        send: (command, ...args) =>
          Effect.suspend(() => {
            if (command === "ZREM" && ++removals <= 2)
              return Effect.fail(new Redis.RedisError({ cause: new Error("away") }))
            const cut = command.startsWith("EVAL") ? new Redis.RedisError({ cause: new Error("cut") }) : null
            return Effect.tap(redis.send(command, ...args), () => (cut === null ? Effect.void : Effect.fail(cut)))
          })
      })
      const limits = yield* makeLimitsRedis("server").pipe(Effect.provideService(Redis.Redis, flaky))
      const error = yield* Effect.flip(limits.acquire(requestOf(keyId, "lost")))
      assert.strictEqual(error.dependency, "limit_store")
      yield* TestClock.adjust("1 second")
      const left = yield* redis
        .send<number>("ZCARD", leasesKey(keyId))
        .pipe(Effect.repeat({ until: (count) => count === 0 }))
      assert.deepStrictEqual([left, removals], [0, 3])
    }).pipe(Effect.provide(connection))
  )
})
