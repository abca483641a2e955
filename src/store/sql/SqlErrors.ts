/**
 * What the failure of a statement means to a store. A database that cannot be reached, is shutting down, refuses more work or does
 * not answer in time is a `StoreError`; anything else (a broken constraint, a wrong statement, a row that cannot be read) is a
 * defect of ours and dies.
 */
import { Duration, Effect, Fiber } from "effect"
import { type SqlClient } from "effect/sql/SqlClient"
import { SqlError } from "effect/sql/SqlError"
import { makeDeadlines } from "../../domain/Deadlines.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { StoreError } from "../StoreError.ts"

/** No statement of a store may take longer, waiting for a connection included. */
const STATEMENT_LIMIT = Duration.seconds(5)

const unavailableReasons: ReadonlySet<string> = new Set([
  "ConnectionError",
  "AuthenticationError",
  "DeadlockError",
  "SerializationError",
  "LockTimeoutError",
  "StatementTimeoutError"
])

/** SQLSTATE: it does not know us (28), no such database (3D), no right to what we need (42501). */
const isRefusalCode = (code: string): boolean => /^(28|3D)/.test(code) || code === "42501"

/** SQLSTATE classes: resources exhausted (53), operator intervention (57), system error (58); a replica that only reads (25006). */
const isUnavailableCode = (code: string): boolean => /^(53|57|58)/.test(code) || code === "25006" || isRefusalCode(code)

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : ""

export const databaseError = (cause: unknown): StoreError => new StoreError({ dependency: "database", cause })

export const isUnavailable = (error: SqlError): boolean =>
  unavailableReasons.has(error.reason._tag) || isUnavailableCode(codeOf(error.reason.cause))

/** The database is there and refuses us: waiting for it does not help. */
export const isRefusal = ({ cause }: StoreError): boolean =>
  cause instanceof SqlError && isRefusalCode(codeOf(cause.reason.cause))

const outOfTime = (): StoreError => databaseError(new Error("the database did not answer in time"))

/**
 * Runs a statement within its time limit. The statement is given up in the background, because cancelling it on a server that
 * does not answer takes seconds of its own.
 */
const bounded = <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreError, R> =>
  Effect.flatMap(Effect.forkDetach(statement, { startImmediately: true }), (fiber) => {
    const giveUp = Effect.forkDetach(Fiber.interrupt(fiber))
    return Fiber.join(fiber).pipe(
      Effect.onInterrupt(() => giveUp),
      Effect.timeoutOrElse({
        duration: STATEMENT_LIMIT,
        orElse: () => Effect.fail(outOfTime())
      })
    )
  })

/** Turns a statement's failures into `StoreError` or defects, within the time limit. */
export const guard = <A, R>(statement: Effect.Effect<A, SqlError | StoreError, R>): Effect.Effect<A, StoreError, R> =>
  judged(bounded(statement))

const judged = <A, R>(statement: Effect.Effect<A, SqlError | StoreError, R>): Effect.Effect<A, StoreError, R> =>
  Effect.catchTag(statement, "SqlError", (error) =>
    isUnavailable(error) ? Effect.fail(databaseError(error)) : Effect.die(error)
  )

/** Runs stores' statements as one transaction: all of them count, or, when it fails, none. */
export const transacted = <A, R>(
  sql: SqlClient,
  statements: Effect.Effect<A, GatewayError | StoreError, R>
): Effect.Effect<A, GatewayError | StoreError, R> =>
  Effect.catchTag(sql.withTransaction(statements), "SqlError", (error) =>
    isUnavailable(error) ? Effect.fail(databaseError(error)) : Effect.die(error)
  )

/**
 * A `guard` for statements that many requests wait for: one fiber each and no timer, because all are looked after together, so that one that
 * is late is noticed up to a second later. The scope is that of who makes such statements.
 */
export const makeGuard = Effect.gen(function* () {
  const deadlines = yield* makeDeadlines(Duration.toMillis(STATEMENT_LIMIT))
  return <A>(statement: Effect.Effect<A, SqlError | StoreError>): Effect.Effect<A, StoreError> =>
    judged(
      Effect.withFiber(({ context }) =>
        Effect.callback<A, SqlError | StoreError>((resume) => {
          // In what the caller is in: a transaction, a trace.
          const fiber = Effect.runForkWith(context)(statement)
          const limit = deadlines.begin(() => {
            resume(Effect.fail(outOfTime()))
            fiber.interruptUnsafe()
          })
          fiber.addObserver((exit) => {
            limit.end()
            resume(exit)
          })
          return Effect.sync(() => {
            limit.end()
            fiber.interruptUnsafe()
          })
        })
      )
    )
})
