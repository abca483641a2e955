/**
 * The one connection to Redis. A call never waits longer than its time limit: it fails at once
 * while Redis is disconnected, and in time while Redis is silent. Calls work again by themselves
 * when Redis is back.
 *
 * Time limits exclude pauses of this process: after a pause it first reads the replies that arrived
 * meanwhile. If Redis does not answer when the process starts, the layer fails with its address and
 * never its password. The connection is meant for short commands: a blocking command or a
 * subscription would be cut off as silence.
 */
import type * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Duration, Effect, Layer, Redacted, References, Schedule } from "effect"
import { Redis } from "effect/persistence"
import { type Heard, makeRedisCommands } from "./RedisCommands.ts"
import { redisScript } from "./RedisScript.ts"
import { StoreError } from "../StoreError.ts"

export interface RedisConnectionOptions {
  /** `redis://` or `rediss://`, with credentials and database if needed. */
  readonly url: Redacted.Redacted
  /**
   * Limit of each command, and of closing. Default 500 ms. That of a command is noticed up to a
   * quarter late.
   */
  readonly timeout?: Duration.Input
  /** Limit of the handshake of a new connection, pauses of this process included. Default 10 s. */
  readonly handshake?: Duration.Input
}

const connectTimeoutMs = 2_000
/** Interval of the pings, and the silence after which a connection counts as dead. */
const pingInterval = Duration.seconds(1)
const silenceLimit = Duration.seconds(3)
const maxReconnectDelayMs = 1_000
/**
 * Most commands sent or waiting. Further ones fail at once, so that a stalled Redis cannot fill the
 * memory.
 */
const maxQueuedCommands = 20_000

const make = Effect.fnUntraced(function* (
  client: NodeRedis.NodeRedis["Service"]["client"],
  timeout: Duration.Duration
) {
  const redis = yield* Redis.Redis
  const context = yield* Effect.context()
  const runSync = Effect.runSyncWith(context)

  let lost = false
  client.on("error", (cause: unknown) => {
    if (lost) return
    lost = true
    runSync(Effect.logWarning(`lost the connection to Redis (${reasonOf(cause)}); reconnecting`))
  })
  client.on("ready", () => {
    if (lost) runSync(Effect.logInfo("reconnected to Redis"))
    lost = false
  })

  // Runs before NodeRedis' own finalizer, which would wait forever for a silent Redis.
  yield* Effect.addFinalizer(() =>
    Effect.promise(() => client.close()).pipe(
      Effect.timeout(timeout),
      Effect.ignoreCause,
      Effect.andThen(Effect.sync(() => client.destroy()))
    )
  )

  // Closes only a connection that is up. One that is down is already reconnecting, and two attempts
  // would race.
  const reconnect = Effect.suspend(() => {
    if (!client.isReady) return Effect.void
    client.destroy()
    return Effect.ignoreCause(Effect.promise(() => client.connect()))
  })
  const runFork = Effect.runForkWith(context)
  const onSilence = () => void runFork(reconnect)

  const heard: Heard = { replies: 0 }
  const call = yield* makeRedisCommands({ client, limit: timeout, heard, onSilence })
  const ping = yield* makeRedisCommands({ client, limit: silenceLimit, heard, onSilence })
  yield* Effect.forkScoped(Effect.repeat(Effect.ignore(ping(["PING"])), Schedule.spaced(pingInterval)))

  const send: Redis.Redis["Service"]["send"] = (command, ...args) => call([command, ...args])
  return Redis.Redis.of({
    send,
    eval: (script) => {
      const runScript = redisScript({ send }, script.lua)
      return (...params) => {
        const all = script.params(...params).map(String)
        const count = script.numberOfKeys(...params)
        return runScript(all.slice(0, count), all.slice(count))
      }
    },
    subscribe: redis.subscribe,
    reserve: redis.reserve
  })
})

/**
 * Host and port of a Redis URL, or an error that says what is wrong with it. The URL is never
 * shown, because it may hold a password.
 */
const addressOf = (url: Redacted.Redacted): Effect.Effect<string, StoreError> =>
  Effect.suspend(() => {
    const text = Redacted.value(url)
    const parsed = URL.canParse(text) ? new URL(text) : null
    return parsed !== null && (parsed.protocol === "redis:" || parsed.protocol === "rediss:")
      ? Effect.succeed(`${parsed.hostname}:${parsed.port === "" ? "6379" : parsed.port}`)
      : Effect.fail(unavailable("The Redis URL is not of the form redis://[user:password@]host[:port][/database]"))
  })

const unavailable = (message: string): StoreError =>
  new StoreError({ dependency: "limit_store", cause: new Error(message) })

/** The innermost message of a failed connection, such as `connect ECONNREFUSED 127.0.0.1:6379`. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  if ("originalError" in cause) return reasonOf(cause.originalError)
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0])
  return cause.message
}

/** Loaded on first use: without it a start takes 0.2 s less. */
const loadNodeRedis = Effect.promise(() => import("@effect/platform-node/NodeRedis"))

export const RedisConnection = {
  /**
   * Connects, or fails with a `StoreError` of the limit store: at once when refused, within seconds
   * when silent.
   */
  layer: (options: RedisConnectionOptions): Layer.Layer<Redis.Redis, StoreError> =>
    Layer.unwrap(
      Effect.gen(function* () {
        const address = yield* addressOf(options.url)
        const timeout = Duration.fromInputUnsafe(options.timeout ?? "500 millis")
        const NodeRedis = yield* loadNodeRedis
        let connected = false
        const client = NodeRedis.layer({
          url: Redacted.value(options.url),
          disableOfflineQueue: true,
          commandsQueueMaxLength: maxQueuedCommands,
          // The client's own limit makes an abort signal and a timer for each command.
          commandOptions: { timeout: 0 },
          socket: {
            connectTimeout: connectTimeoutMs,
            // Node's timer runs before the socket is read, so a pause of this process looks like
            // silence to it. This timeout serves the handshake. Later, the pings detect a dead
            // connection.
            socketTimeout: Duration.toMillis(Duration.fromInputUnsafe(options.handshake ?? "10 seconds")),
            // The first connection gets one attempt. A lost connection is retried until it is up
            // again.
            reconnectStrategy: (retries, cause) =>
              connected ? Math.min(25 * 2 ** Math.min(retries, 10), maxReconnectDelayMs) : cause
          }
        })
        const connection = NodeRedis.NodeRedis.use((service) => make(service.client, timeout)).pipe(
          Effect.tap(() => Effect.sync(() => void (connected = true)))
        )
        return Layer.effect(Redis.Redis, connection).pipe(
          // NodeRedis would log each error of the client as an object, once per reconnection
          // attempt.
          Layer.provide(Layer.provide(client, Layer.succeed(References.MinimumLogLevel, "None"))),
          Layer.catchTag("RedisError", (error) =>
            Layer.effect(Redis.Redis, unavailable(`Redis at ${address} does not answer: ${reasonOf(error.cause)}`))
          )
        )
      })
    )
}
