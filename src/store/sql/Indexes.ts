/**
 * Builds indexes on tables that may be large. Postgres can build one without blocking writes only
 * outside of a transaction, so these indexes are not migrations. They are built after the start,
 * and correctness must never depend on them. Only one of several processes builds. An index that an
 * interrupted build left invalid is dropped and built again.
 */
import { Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type SqlError } from "effect/sql/SqlError"

/**
 * From an index's name to what it covers, such as `generations (provider)`. A released index never
 * changes.
 */
export type Indexes = Readonly<Record<string, string>>

/** Identifies the lock among all advisory locks of the database: the bytes of `toli`. */
const LOCK_ID = 0x746f6c69

const WORTH_A_LINE = Duration.seconds(5)

export const buildIndexes = (indexes: Indexes): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.scoped(
    Effect.gen(function* () {
      const names = Object.keys(indexes)
      if (names.length === 0) return
      const sql = yield* SqlClient.SqlClient
      // The lock and the time limit belong to the session.
      const connection = yield* sql.reserve
      const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
      const [lock] = yield* run(`SELECT pg_try_advisory_lock(${LOCK_ID}) AS taken`)
      if (lock?.taken !== true) return
      const release = Effect.andThen(run("RESET statement_timeout"), run(`SELECT pg_advisory_unlock(${LOCK_ID})`))
      yield* Effect.addFinalizer(() => Effect.ignore(release))
      yield* run("SET statement_timeout = 0")
      for (const name of names) {
        const [found] = yield* run(`SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('${name}')`)
        if (found?.valid === true) continue
        yield* run(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
        const [took] = yield* Effect.timed(run(`CREATE INDEX CONCURRENTLY ${name} ON ${indexes[name]}`))
        // Those of a new database take no time and are not worth a line.
        const isLong = Duration.isGreaterThan(took, WORTH_A_LINE)
        yield* (isLong ? Effect.logInfo : Effect.logDebug)(`built the index ${name}`)
      }
    })
  )
