import * as CacheRedis from "../../../src/store/cache/CacheRedis.ts"
import * as LimitsRedis from "../../../src/store/limits/LimitsRedis.ts"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Logger, Option, Redacted, Schedule, Scope } from "effect"
import { Redis } from "effect/persistence"
import { CacheStore } from "../../../src/store/cache/CacheStore.ts"
import { Limits } from "../../../src/store/limits/Limits.ts"
import { RedisConnection, type RedisConnectionOptions } from "../../../src/store/redis/RedisConnection.ts"
import { RedisOffline } from "../../../src/store/redis/RedisOffline.ts"
import { type StoreError } from "../../../src/store/StoreError.ts"
import { spawnRedis } from "../../support/Redis.ts"
import { sharedSecrets } from "../../support/SharedSecrets.ts"
import { proxyTo } from "../sql/databaseProxy.ts"
import { leaseOf, newKeyId, requestOf, roomy } from "../limits/limitsSuite.ts"

/** A Redis that ends with the test, even when it is paused. */
const ownRedis = (options?: { readonly port?: number; readonly password?: string }) =>
  Effect.acquireRelease(
    Effect.promise(() => spawnRedis(options)),
    (server) => Effect.promise(() => server.stop())
  )

/** Without the client's warnings, because these tests lose connections on purpose. */
const connectionTo = (url: string, more: Partial<RedisConnectionOptions> = {}) =>
  RedisConnection.layer({ url: Redacted.make(url), ...more }).pipe(Layer.provide(Logger.layer([])))

const storesOn = (url: string) =>
  Layer.mergeAll(LimitsRedis.layer, CacheRedis.layer).pipe(
    Layer.provideMerge(Layer.merge(connectionTo(url), sharedSecrets))
  )

const untilItWorks = Effect.retry(Schedule.spaced("20 millis"))

/**
 * Repeats a call until the client knows that it is offline and fails calls without sending them.
 */
const untilOffline = <A>(call: Effect.Effect<A, StoreError>) =>
  Effect.flip(call).pipe(
    Effect.repeat({
      schedule: Schedule.spaced("5 millis"),
      until: (error) => error.cause instanceof RedisOffline
    })
  )

describe("RedisConnection", () => {
  it.live("fails calls while Redis is away, and works again when it is back, without a restart", () =>
    Effect.gen(function* () {
      const first = yield* ownRedis()
      const stores = yield* Layer.build(storesOn(first.url))
      yield* Effect.gen(function* () {
        const limits = yield* Limits
        const cache = yield* CacheStore
        const keyId = newKeyId()
        const acquire = (id: string) => limits.acquire(requestOf(keyId, id, { limits: { ...roomy, concurrency: 1 } }))
        assert.strictEqual((yield* acquire("a")).refusedBy, null)

        yield* Effect.promise(() => first.stop())
        yield* untilOffline(limits.ping)
        const error = yield* Effect.flip(acquire("b"))
        assert.deepStrictEqual([error._tag, error.dependency], ["StoreError", "limit_store"])
        assert.strictEqual((yield* Effect.flip(limits.release(leaseOf(keyId, "a")))).dependency, "limit_store")
        assert.strictEqual((yield* Effect.flip(cache.get("a", 0))).dependency, "cache")
        assert.strictEqual((yield* Effect.flip(cache.set("a", "b", 1_000, 0))).dependency, "cache")
        assert.strictEqual((yield* Effect.flip(cache.size)).dependency, "cache")
        assert.strictEqual((yield* Effect.flip(cache.ping)).dependency, "cache")

        yield* ownRedis({ port: first.port })
        yield* untilItWorks(limits.ping)
        assert.strictEqual((yield* acquire("c")).refusedBy, null)
        yield* cache.set("a", "kept", 60_000, 0)
        assert.deepStrictEqual(yield* cache.get("a", 0), Option.some("kept"))
      }).pipe(Effect.provide(stores))
    })
  )

  it.live("logs the loss of the connection once, with the reason, and its recovery once", () =>
    Effect.gen(function* () {
      const said: Array<unknown> = []
      const logger = Logger.make(({ message }) => void said.push(message))
      const first = yield* ownRedis()
      const layer = RedisConnection.layer({ url: Redacted.make(first.url) }).pipe(Layer.provide(Logger.layer([logger])))
      const redis = Context.get(yield* Layer.build(layer), Redis.Redis)
      yield* Effect.promise(() => first.stop())
      // Several reconnection attempts fail in the meantime.
      yield* Effect.sleep("300 millis")
      yield* ownRedis({ port: first.port })
      yield* untilItWorks(redis.send("PING"))
      const [lost, back, ...more] = said.flat()
      assert.match(String(lost), /^lost the connection to Redis \(.+\); reconnecting$/)
      assert.deepStrictEqual([back, ...more], ["reconnected to Redis"])
    })
  )

  it.live("fails calls in time while Redis is silent, then at once, and unanswered calls occupy no slot", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis()
      const stores = yield* Layer.build(storesOn(server.url))
      yield* Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string) =>
          limits.acquire(requestOf(keyId, id, { leaseMs: 3_600_000, limits: { ...roomy, concurrency: 2 } }))
        assert.strictEqual((yield* acquire("a")).refusedBy, null)

        server.pause()
        const errors = yield* Effect.forEach(["b", "c", "d"], (id) => Effect.flip(acquire(id)), {
          concurrency: "unbounded"
        })
        assert.isTrue(errors.every((error) => error.dependency === "limit_store"))
        assert.isTrue(errors.some((error) => String(error.cause).includes("did not answer within 500ms")))
        yield* untilOffline(limits.ping)

        server.resume()
        yield* untilItWorks(limits.ping)
        const granted = yield* acquire("e").pipe(
          Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (verdict) => verdict.refusedBy === null })
        )
        assert.strictEqual(granted.refusedBy, null)
      }).pipe(Effect.provide(stores))
    })
  )

  it.live("does not count a pause of this process as silence: a reply in the socket counts", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis()
      const stores = yield* Layer.build(storesOn(server.url))
      yield* Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        yield* limits.ping
        const asked = yield* Effect.forkChild(limits.acquire(requestOf(keyId, "a")), { startImmediately: true })
        // This process is blocked for longer than the time limit of a command.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900)
        assert.strictEqual((yield* Fiber.join(asked)).refusedBy, null)
        yield* limits.release(leaseOf(keyId, "a"))
      }).pipe(Effect.provide(stores))
    })
  )

  it.live("keeps the connection over a pause of this process that is longer than the limit for silence", () =>
    Effect.gen(function* () {
      const said: Array<unknown> = []
      const logger = Layer.provide(Logger.layer([Logger.make(({ message }) => void said.push(message))]))
      const server = yield* ownRedis()
      const connection = yield* Layer.build(RedisConnection.layer({ url: Redacted.make(server.url) }).pipe(logger))
      const redis = Context.get(connection, Redis.Redis)
      const asked = yield* Effect.forkChild(redis.send("PING"), { startImmediately: true })
      // In this round of the event loop the timers run next, and only then the reply is read.
      yield* Effect.callback<void>((resume) => {
        setImmediate(() => {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_300)
          resume(Effect.void)
        })
      })
      assert.strictEqual(yield* Fiber.join(asked), "PONG")
      assert.deepStrictEqual(said, [])
    })
  )

  it.live("detects a silent connection without calls by itself, and replaces it", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis()
      const proxy = yield* proxyTo(new URL(server.url))
      const redis = Context.get(yield* Layer.build(connectionTo(proxy.url.href)), Redis.Redis)
      // A ping of the first connection, then the greeting of the second.
      yield* Effect.promise(() => proxy.freeze())
      yield* Effect.promise(() => proxy.freeze())
      yield* proxy.thaw
      yield* untilItWorks(redis.send("PING"))
    })
  )

  it.live("releases a slot that was released while Redis was silent, as soon as it answers again", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis()
      const stores = yield* Layer.build(storesOn(server.url))
      yield* Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string) =>
          limits.acquire(requestOf(keyId, id, { leaseMs: 3_600_000, limits: { ...roomy, concurrency: 1 } }))
        assert.strictEqual((yield* acquire("a")).refusedBy, null)
        server.pause()
        yield* Effect.flip(limits.release(leaseOf(keyId, "a")))
        server.resume()
        yield* untilItWorks(limits.ping)
        const granted = yield* acquire("b").pipe(
          Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (verdict) => verdict.refusedBy === null })
        )
        assert.strictEqual(granted.refusedBy, null)
      }).pipe(Effect.provide(stores))
    })
  )

  it.live("limits the time of scripts that others run through it", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis()
      const connection = yield* Layer.build(connectionTo(server.url))
      yield* Effect.gen(function* () {
        const redis = yield* Redis.Redis
        const answer = redis.eval(
          Redis.script((key: string) => [key], { numberOfKeys: 1, lua: "return 7" }).withReturnType<number>()
        )
        assert.strictEqual(yield* answer("a"), 7)
        server.pause()
        const error = yield* Effect.flip(answer("a"))
        assert.include(String(error.cause), "did not answer within 500ms")
      }).pipe(Effect.provide(connection))
    })
  )

  it.live("starts no timer for a command", () =>
    Effect.gen(function* () {
      const connection = yield* Layer.build(connectionTo((yield* ownRedis()).url))
      const redis = Context.get(connection, Redis.Redis)
      const timeout = AbortSignal.timeout.bind(AbortSignal)
      let timers = 0
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          AbortSignal.timeout = (ms) => {
            timers++
            return timeout(ms)
          }
        }),
        () => Effect.sync(() => (AbortSignal.timeout = timeout))
      )
      assert.strictEqual(yield* redis.send("PING"), "PONG")
      assert.strictEqual(timers, 0)
    })
  )

  it.live("closes in time while Redis is silent", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis()
      const scope = yield* Scope.make()
      const connection = yield* Layer.buildWithScope(connectionTo(server.url), scope)
      server.pause()
      const error = yield* Redis.Redis.use((redis) => redis.send("PING")).pipe(Effect.provide(connection), Effect.flip)
      assert.strictEqual(error._tag, "RedisError")
      const closed = yield* Scope.close(scope, Exit.void).pipe(Effect.timeoutOption("10 seconds"))
      assert.isTrue(Option.isSome(closed))
    })
  )

  it.live("does not start without Redis, and reports the address but not the password", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis()
      yield* Effect.promise(() => server.stop())
      const error = yield* Effect.flip(Layer.build(connectionTo(`redis://user:hunter2@127.0.0.1:${server.port}`)))
      assert.deepStrictEqual([error._tag, error.dependency], ["StoreError", "limit_store"])
      assert.strictEqual(
        String(error.cause),
        `Error: Redis at 127.0.0.1:${server.port} does not answer: connect ECONNREFUSED 127.0.0.1:${server.port}`
      )
    })
  )

  it.live("does not start with a silent Redis", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis()
      server.pause()
      const error = yield* Effect.flip(Layer.build(connectionTo(server.url, { handshake: "1 second" })))
      assert.include(String(error.cause), `Redis at 127.0.0.1:${server.port} does not answer: Socket timeout`)
    })
  )

  it.live("does not start with a wrong password, and does start with the right one", () =>
    Effect.gen(function* () {
      const server = yield* ownRedis({ password: "correct-horse" })
      const error = yield* Effect.flip(Layer.build(connectionTo(`redis://:hunter2@127.0.0.1:${server.port}`)))
      assert.include(String(error.cause), "WRONGPASS")
      assert.notInclude(String(error.cause), "hunter2")
      const connection = yield* Layer.build(connectionTo(server.url))
      const pong = yield* Redis.Redis.use((redis) => redis.send("PING")).pipe(Effect.provide(connection))
      assert.strictEqual(pong, "PONG")
    })
  )

  it.effect.each(["", "localhost:6379", "http://:hunter2@localhost", "redis//:hunter2@x"])(
    "does not take %s for a Redis URL, and does not repeat it",
    (url) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Layer.build(connectionTo(url)))
        assert.strictEqual(
          String(error.cause),
          "Error: The Redis URL is not of the form redis://[user:password@]host[:port][/database]"
        )
      })
  )
})
