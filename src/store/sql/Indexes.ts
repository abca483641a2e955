/**
 * Indexes that come to tables which may be large by then. Postgres builds one while others write only outside of a transaction, so they are
 * no migrations: they are built after the start, and nothing may need them for its answer to be right. Of several processes one
 * builds. What a build that broke off left behind is built anew.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type SqlError } from "effect/sql/SqlError"

/** By name, what it is on, such as `generations (provider)`. An index that was released never changes. */
export type Indexes = Readonly<Record<string, string>>

/** Names the lock among all advisory locks of the database: the bytes of `toli`. */
const LOCK_ID = 0x746f6c69

export const buildIndexes = (indexes: Indexes): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.scoped(
    Effect.gen(function* () {
      const names = Object.keys(indexes)
      if (names.length === 0) return
      const sql = yield* SqlClient.SqlClient
      // The lock and the time limit are the session's.
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
        yield* run(`CREATE INDEX CONCURRENTLY ${name} ON ${indexes[name]}`)
        yield* Effect.logInfo(`the index ${name} is built`)
      }
    })
  )
