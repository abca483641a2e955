/**
 * The migrations, in order, and how they run: forward only, all pending ones in one transaction under an advisory lock, so
 * that processes that start at once migrate once and the others wait. A migration that was released never changes; the next
 * one has the next number. An index of a table that may be large comes by Indexes.ts: built here, it would stop what writes to the table.
 */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { type SqlError } from "effect/sql/SqlError"
import schema from "../migrations/0001_schema.ts"
import { databaseError, isUnavailable } from "./SqlErrors.ts"
import { type StoreError } from "../StoreError.ts"

/** By number and name, as `0001_schema`. */
export type Migrations = Readonly<Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>>

/** Names the lock among all advisory locks of the database: the bytes of `toll`. */
const LOCK_ID = 0x746f6c6c

const TABLE = "tollgate_migrations"

/**
 * Only what is newer than the newest applied migration is ever run. So each older one must have been applied, under its name:
 * a database that lacks one was made by something else, and what it holds is not known. Newer ones that this version does not
 * know are no fault: it may run beside a newer version, or after one.
 */
const refuseOthers = Effect.fnUntraced(function* (migrations: Migrations) {
  const sql = yield* SqlClient.SqlClient
  const [table] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${TABLE}) IS NOT NULL AS exists`
  if (table?.exists !== true) return
  const applied = yield* sql<{ readonly id: number; readonly file: string }>`
    SELECT migration_id AS id, lpad(migration_id::text, 4, '0') || '_' || name AS file FROM ${sql(TABLE)} ORDER BY id`
  const newest = applied.at(-1)?.id ?? 0
  const files = applied.map(({ file }) => file)
  const missing = Object.keys(migrations).filter((file) => Number.parseInt(file, 10) <= newest && !files.includes(file))
  if (missing.length === 0) return
  const [first, last] = [files[0] ?? "", files.at(-1) ?? ""]
  return yield* new Migrator.MigrationError({
    kind: "BadState",
    message:
      "this database was made by another version of tollgate, such as a commit from before the first release, and cannot " +
      `be brought up to date: it lacks ${missing.join(", ")}, and has ${first === last ? first : `${first} to ${last}`}. ` +
      "Nothing was changed. Either run the version that made it, or dump what you need with pg_dump and give this version " +
      "an empty database: drop it and create it again, or, where it is embedded, move TOLLGATE_DATA_DIR away"
  })
})

/** Brings the database up to `migrations`. A `MigrationError` names the migration that failed. */
export const migrateTo = (
  migrations: Migrations
): Effect.Effect<void, StoreError | Migrator.MigrationError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        // Migrations may run long, and another process's migrations are waited for; neither without an end.
        yield* sql`SET LOCAL statement_timeout = '600s'`
        yield* sql`SET LOCAL lock_timeout = '120s'`
        yield* sql`SELECT 1 FROM (SELECT pg_advisory_xact_lock(${LOCK_ID}::bigint)) AS locked`
        yield* refuseOthers(migrations)
        yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: TABLE })
      })
    )
  }).pipe(
    Effect.catchTag("SqlError", (error: SqlError) =>
      isUnavailable(error) ? Effect.fail(databaseError(error)) : Effect.die(error)
    )
  )

/** Brings the database up to date. */
export const migrate = migrateTo({ "0001_schema": schema })
