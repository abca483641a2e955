/**
 * Maps the failures of SQL statements. A database that cannot be reached, is shutting down, refuses
 * more work or does not answer in time is a `StoreError`. Anything else (a broken constraint, a
 * wrong statement, a row that cannot be read) is a defect.
 */
import { Duration, Effect, Fiber } from "effect"
import { type SqlClient } from "effect/sql/SqlClient"
import { SqlError } from "effect/sql/SqlError"
import { type GatewayError } from "../../domain/Errors.ts"
import { StoreError } from "../StoreError.ts"

/** Time limit of each statement of a store, waiting for a connection included. */
export const STATEMENT_LIMIT = Duration.seconds(5)

const unavailableReasons: ReadonlySet<string> = new Set([
  "ConnectionError",
  "AuthenticationError",
  "DeadlockError",
  "SerializationError",
  "LockTimeoutError",
  "StatementTimeoutError"
])

/** SQLSTATE: invalid authorization (28), no such database (3D), insufficient privilege (42501). */
const isRefusalCode = (code: string): boolean => /^(28|3D)/.test(code) || code === "42501"

/**
 * SQLSTATE classes: insufficient resources (53), operator intervention (57), system error (58), and
 * a read-only replica (25006).
 */
const isUnavailableCode = (code: string): boolean => /^(53|57|58)/.test(code) || code === "25006" || isRefusalCode(code)

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : ""

export const databaseError = (cause: unknown): StoreError => new StoreError({ dependency: "database", cause })

export const isUnavailable = (error: SqlError): boolean =>
  unavailableReasons.has(error.reason._tag) || isUnavailableCode(codeOf(error.reason.cause))

/** True when the database is up and refuses access, so that retrying does not help. */
export const isRefusal = ({ cause }: StoreError): boolean =>
  cause instanceof SqlError && isRefusalCode(codeOf(cause.reason.cause))

export const outOfTime = (): StoreError => databaseError(new Error("the database did not answer in time"))

/**
 * Runs a statement within its time limit. A late statement is interrupted in the background,
 * because cancelling it on a server that does not answer takes seconds.
 */
const withTimeLimit = <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreError, R> =>
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

/** Runs a statement within the time limit, and turns its failures into `StoreError` or defects. */
export const guard = <A, R>(statement: Effect.Effect<A, SqlError | StoreError, R>): Effect.Effect<A, StoreError, R> =>
  mapSqlErrors(withTimeLimit(statement))

/** Turns the failures of a statement into `StoreError` or defects. */
export const mapSqlErrors = <A, R>(
  statement: Effect.Effect<A, SqlError | StoreError, R>
): Effect.Effect<A, StoreError, R> =>
  Effect.catchTag(statement, "SqlError", (error) =>
    isUnavailable(error) ? Effect.fail(databaseError(error)) : Effect.die(error)
  )

/**
 * Runs statements of several stores in one transaction: all of them apply, or, after a failure,
 * none.
 */
export const transacted = <A, R>(
  sql: SqlClient,
  statements: Effect.Effect<A, GatewayError | StoreError, R>
): Effect.Effect<A, GatewayError | StoreError, R> =>
  Effect.catchTag(sql.withTransaction(statements), "SqlError", (error) =>
    isUnavailable(error) ? Effect.fail(databaseError(error)) : Effect.die(error)
  )
