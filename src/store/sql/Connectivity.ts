/**
 * Checks a Postgres or a Redis server before it is used: that it answers, its version and its
 * clock. It writes and migrates nothing. A server that is silent for five seconds counts as
 * unreachable.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Data, Duration, Effect, Layer, Redacted, type Scope } from "effect"

export const LIMIT = Duration.seconds(5)

/**
 * The version and the clock of a server. `clockMs` is in Unix milliseconds, read during the check.
 */
export interface Probed {
  readonly version: string
  readonly clockMs: number
}

/**
 * The server does not answer, or refuses. `message` is the innermost reason and holds no
 * credential.
 */
export class ProbeFailed extends Data.TaggedError("ProbeFailed")<{ readonly message: string }> {}

const reasonOf = (cause: unknown): string => {
  let at = cause
  for (let depth = 0; depth < 8; depth++) {
    if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
    else if (at instanceof Error && "reason" in at && at.reason instanceof Error) at = at.reason
    else if (at instanceof Error && at.cause instanceof Error) at = at.cause
    else break
  }
  return at instanceof Error && at.message !== "" ? at.message : String(at)
}

const failed = (cause: unknown) => new ProbeFailed({ message: reasonOf(cause) })

/** Runs a look at a server, for at most `LIMIT`. */
export const within = <A, E>(look: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, ProbeFailed> =>
  Effect.scoped(look).pipe(
    Effect.mapError(failed),
    Effect.timeoutOrElse({
      duration: LIMIT,
      orElse: () => Effect.fail(new ProbeFailed({ message: `no answer within ${Duration.format(LIMIT)}` }))
    })
  )

export const probePostgres = (url: Redacted.Redacted): Effect.Effect<Probed, ProbeFailed> =>
  within(
    Effect.gen(function* () {
      const services = yield* Layer.build(
        PgClient.layer({ url, applicationName: "tollgate", maxConnections: 1, connectTimeout: LIMIT })
      )
      const sql = Context.get(services, PgClient.PgClient)
      const rows = yield* sql<Probed>`
        SELECT current_setting('server_version') AS version,
               (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "clockMs"`
      const row = rows[0]
      return row ?? (yield* Effect.die(new Error("a SELECT without FROM that has no row")))
    })
  )

export const probeRedis = (url: Redacted.Redacted): Effect.Effect<Probed, ProbeFailed> =>
  within(
    Effect.gen(function* () {
      const { createClient } = yield* Effect.promise(() => import("redis"))
      const client = yield* Effect.acquireRelease(
        Effect.try({
          try: () =>
            createClient({
              url: Redacted.value(url),
              disableOfflineQueue: true,
              socket: { connectTimeout: Duration.toMillis(LIMIT), reconnectStrategy: false }
            }).on("error", () => undefined),
          catch: failed
        }),
        (client) => Effect.ignore(Effect.sync(() => client.destroy()))
      )
      yield* Effect.tryPromise({ try: () => client.connect(), catch: failed })
      const [time, info] = yield* Effect.tryPromise({
        try: () => Promise.all([client.sendCommand(["TIME"]), client.sendCommand(["INFO", "server"])]),
        catch: failed
      })
      const [seconds, microseconds] = Array.isArray(time) ? time.map(Number) : []
      return {
        version: /^redis_version:(\S+)/m.exec(typeof info === "string" ? info : "")?.[1] ?? "unknown",
        clockMs: (seconds ?? 0) * 1000 + (microseconds ?? 0) / 1000
      }
    })
  )
