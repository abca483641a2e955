/**
 * The one connection to Redis. It promises that no call waits longer than its time limit: while Redis is away calls fail at once,
 * and while it is silent they fail in time; and that calls work again by themselves when it is back. Only the time in which this
 * process could have heard Redis counts: after a pause of its own it first reads what came meanwhile. A Redis that does not
 * answer when the process starts fails the layer, with its address and never its password. The connection is meant for short
 * commands: a blocking command or a subscription would be cut as silence.
 */
import type * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Duration, Effect, Layer, Redacted, References, Schedule } from "effect"
import { Redis } from "effect/persistence"
import { RedisOffline } from "./RedisOffline.ts"
import { StoreError } from "../StoreError.ts"

export interface RedisConnectionOptions {
  /** `redis://` or `rediss://`, with credentials and database if any. */
  readonly url: Redacted.Redacted
  /** For each command, and for the goodbye. Default 500 ms. */
  readonly timeout?: Duration.Input
  /** For Redis to greet a new connection, pauses of this process included. Default 10 s. */
  readonly handshake?: Duration.Input
}

const connectTimeoutMs = 2_000
/** So often a connection is asked whether it is there; one that says nothing for so long is dead. */
const pingInterval = Duration.seconds(1)
const silenceLimit = Duration.seconds(3)
const maxReconnectDelayMs = 1_000
/** Commands sent or waiting; what exceeds it fails at once, so that a stalled Redis cannot fill the memory. */
const maxQueuedCommands = 20_000

const make = Effect.fnUntraced(function* (
  client: NodeRedis.NodeRedis["Service"]["client"],
  timeout: Duration.Duration
) {
  const redis = yield* Redis.Redis
  const scope = yield* Effect.scope
  let replies = 0
  const runSync = Effect.runSyncWith(yield* Effect.context())

  let lost = false
  client.on("error", (cause: unknown) => {
    if (lost) return
    lost = true
    runSync(Effect.logWarning(`the connection to Redis is lost (${reasonOf(cause)}); it is being renewed`))
  })
  client.on("ready", () => {
    if (lost) runSync(Effect.logInfo("the connection to Redis is there again"))
    lost = false
  })

  // Runs before NodeRedis' own finalizer, which would wait for ever for a Redis that is silent.
  yield* Effect.addFinalizer(() =>
    Effect.promise(() => client.close()).pipe(
      Effect.timeout(timeout),
      Effect.ignoreCause,
      Effect.andThen(Effect.sync(() => client.destroy()))
    )
  )

  // Only a connection that is up is dropped: one that is down is being renewed already, and two renewals would race.
  const renew = Effect.suspend(() => {
    if (!client.isReady) return Effect.void
    client.destroy()
    return Effect.promise(() => client.connect()).pipe(Effect.ignoreCause, Effect.forkIn(scope), Effect.asVoid)
  })

  const guarded = <A>(
    command: Effect.Effect<A, Redis.RedisError>,
    limit: Duration.Duration = timeout
  ): Effect.Effect<A, Redis.RedisError> =>
    Effect.suspend(() => {
      if (!client.isReady) return Effect.fail(new Redis.RedisError({ cause: new RedisOffline() }))
      const repliesBefore = replies
      return command.pipe(
        Effect.map((reply) => {
          replies++
          return reply
        }),
        Effect.raceFirst(
          Effect.andThen(
            silence(limit),
            Effect.andThen(
              // Not one reply to anybody in all this time: the connection is stuck, and waiting on it is in vain.
              Effect.suspend(() => (replies === repliesBefore ? renew : Effect.void)),
              Effect.fail(
                new Redis.RedisError({ cause: new Error(`Redis did not answer within ${Duration.format(limit)}`) })
              )
            )
          )
        )
      )
    })

  yield* Effect.forkScoped(
    Effect.repeat(Effect.ignore(guarded(redis.send("PING"), silenceLimit)), Schedule.spaced(pingInterval))
  )

  return Redis.Redis.of({
    send: (command, ...args) => guarded(redis.send(command, ...args)),
    eval:
      (script) =>
      (...params) =>
        guarded(redis.eval(script)(...params)),
    subscribe: redis.subscribe,
    reserve: redis.reserve
  })
})

/** A wait that was longer than this beyond its time was a pause of our own process. */
const PAUSE_NANOS = 50_000_000n
/** So often the wait begins once more. */
const PAUSES = 2

/**
 * Ends when Redis was silent for so long. A timer that comes late means that nobody read the socket meanwhile: the wait begins
 * once more. A timer runs before the socket is read in the same round of the event loop, so the socket gets one more round.
 */
const silence = (timeout: Duration.Duration): Effect.Effect<void> =>
  Effect.clockWith((clock) => {
    const wait = (pauses: number): Effect.Effect<void> => {
      const endNanos = clock.monotonicTimeNanosUnsafe() + Duration.toNanosUnsafe(timeout)
      return Effect.flatMap(clock.sleep(timeout), () =>
        pauses > 0 && clock.monotonicTimeNanosUnsafe() - endNanos > PAUSE_NANOS ? wait(pauses - 1) : socketRead
      )
    }
    return wait(PAUSES)
  })

const socketRead = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

/** Host and port of a Redis URL, or what is wrong with it. The URL itself may hold a password and is never shown. */
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

/** What a failed connect has to say, without its wrappers: `connect ECONNREFUSED 127.0.0.1:6379`. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  if ("originalError" in cause) return reasonOf(cause.originalError)
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0])
  return cause.message
}

/** Loaded when it is needed: a gateway without Redis starts a fifth of a second sooner. */
const loadNodeRedis = Effect.promise(() => import("@effect/platform-node/NodeRedis"))

export const RedisConnection = {
  /** Connects, or fails with a `StoreError` of the limit store: at once when refused, within seconds when silent. */
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
          socket: {
            connectTimeout: connectTimeoutMs,
            // Node's timer runs before the socket is read, so a pause of this process looks like silence to it. It is there for the
            // handshake; whether a connection is silent later, the pings tell.
            socketTimeout: Duration.toMillis(Duration.fromInputUnsafe(options.handshake ?? "10 seconds")),
            // The first connection gets one try; a lost one is renewed until it is there again, after silence too.
            reconnectStrategy: (retries, cause) =>
              connected ? Math.min(25 * 2 ** Math.min(retries, 10), maxReconnectDelayMs) : cause
          }
        })
        const connection = NodeRedis.NodeRedis.use((service) => make(service.client, timeout)).pipe(
          Effect.tap(() => Effect.sync(() => void (connected = true)))
        )
        return Layer.effect(Redis.Redis, connection).pipe(
          // It would log every error of the client as an object, each try to renew the connection once more.
          Layer.provide(Layer.provide(client, Layer.succeed(References.MinimumLogLevel, "None"))),
          Layer.catchTag("RedisError", (error) =>
            Layer.effect(Redis.Redis, unavailable(`Redis at ${address} does not answer: ${reasonOf(error.cause)}`))
          )
        )
      })
    )
}
