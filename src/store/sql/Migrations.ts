/**
 * The migrations, in order, and the code that runs them. They only go forward. All pending ones run
 * in one transaction under an advisory lock, so of several processes that start together one
 * migrates and the others wait.
 *
 * A released migration never changes, and the next one has the next number. Indexes.ts adds indexes
 * to tables that may be large, because creating one here would block writes to its table.
 */
import { Effect, Record } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { type SqlError } from "effect/sql/SqlError"
import * as schema from "../migrations/0001_schema.ts"
import * as refusals from "../migrations/0002_refusals.ts"
import * as responses from "../migrations/0003_responses.ts"
import * as requestFilters from "../migrations/0004_request_filters.ts"
import * as operations from "../migrations/0005_operations.ts"
import * as outages from "../migrations/0006_outages.ts"
import * as singleEntries from "../migrations/0007_single_entries.ts"
import * as sealedKeys from "../migrations/0008_sealed_keys.ts"
import * as groupedKeys from "../migrations/0009_grouped_keys.ts"
import { type MigrationFacts } from "./MigrationFacts.ts"
import { databaseError, isUnavailable } from "./SqlErrors.ts"
import { type StoreError } from "../StoreError.ts"

/** From number and name, such as `0001_schema`, to the migration. */
export type Migrations = Readonly<Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>>

/** Identifies the lock among all advisory locks of the database: the bytes of `toll`. */
const LOCK_ID = 0x746f6c6c

const TABLE = "tollgate_migrations"

/** The files of the migrations that the database has run, such as `0001_schema`, in order. */
export const appliedMigrations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [table] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${TABLE}) IS NOT NULL AS exists`
  if (table?.exists !== true) return []
  const rows = yield* sql<{ readonly file: string }>`
    SELECT lpad(migration_id::text, 4, '0') || '_' || name AS file FROM ${sql(TABLE)} ORDER BY migration_id`
  return rows.map(({ file }) => file)
})

const numberOf = (file: string): number => Number.parseInt(file, 10)

/**
 * Those of `known` that are not newer than the newest applied migration, and were not applied under
 * their names.
 */
export const lackingMigrations = (
  known: ReadonlyArray<string>,
  applied: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const newest = Math.max(0, ...applied.map(numberOf))
  return known.filter((file) => numberOf(file) <= newest && !applied.includes(file))
}

/** Why a database of another lineage is refused, and what to do. */
export const foreignSchema = (missing: ReadonlyArray<string>, applied: ReadonlyArray<string>): string => {
  const [first, last] = [applied[0] ?? "", applied.at(-1) ?? ""]
  return (
    "this database was made by another version of tollgate, such as a commit from before the first release, and cannot " +
    `be brought up to date: it lacks ${missing.join(", ")}, and has ${first === last ? first : `${first} to ${last}`}. ` +
    "Nothing was changed. Either run the version that made it, or dump what you need with pg_dump and give this version " +
    "an empty database: drop it and create it again, or, where it is embedded, move TOLLGATE_DATA_DIR away"
  )
}

/**
 * Refuses a database that another lineage of migrations made. The migrator only runs what is newer
 * than the newest applied migration, so each older one must have been applied under its name;
 * otherwise the contents of the database are unknown. Newer migrations that this version does not
 * know are accepted: it may run next to a newer version, or after one.
 */
const refuseForeignSchema = Effect.fnUntraced(function* (migrations: Migrations) {
  const applied = yield* appliedMigrations
  const missing = lackingMigrations(Object.keys(migrations), applied)
  if (missing.length === 0) return
  return yield* new Migrator.MigrationError({ kind: "BadState", message: foreignSchema(missing, applied) })
})

/** Migrates the database up to `migrations`. A `MigrationError` names the migration that failed. */
export const migrateTo = (
  migrations: Migrations
): Effect.Effect<void, StoreError | Migrator.MigrationError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        // A migration may run long, and may wait for another process' migrations. Both times are
        // bounded.
        yield* sql`SET LOCAL statement_timeout = '600s'`
        yield* sql`SET LOCAL lock_timeout = '120s'`
        yield* sql`SELECT 1 FROM (SELECT pg_advisory_xact_lock(${LOCK_ID}::bigint)) AS locked`
        yield* refuseForeignSchema(migrations)
        yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: TABLE })
      })
    )
  }).pipe(
    Effect.catchTag("SqlError", (error: SqlError) =>
      isUnavailable(error) ? Effect.fail(databaseError(error)) : Effect.die(error)
    )
  )

interface Migration {
  readonly run: Effect.Effect<void, SqlError, SqlClient.SqlClient>
  readonly facts: MigrationFacts
}

/** The migrations of this version, in order. */
export const released: Readonly<Record<string, Migration>> = {
  "0001_schema": { run: schema.default, facts: schema.facts },
  "0002_refusals": { run: refusals.default, facts: refusals.facts },
  "0003_responses": { run: responses.default, facts: responses.facts },
  "0004_request_filters": { run: requestFilters.default, facts: requestFilters.facts },
  "0005_operations": { run: operations.default, facts: operations.facts },
  "0006_outages": { run: outages.default, facts: outages.facts },
  "0007_single_entries": { run: singleEntries.default, facts: singleEntries.facts },
  "0008_sealed_keys": { run: sealedKeys.default, facts: sealedKeys.facts },
  "0009_grouped_keys": { run: groupedKeys.default, facts: groupedKeys.facts }
}

/** Migrates the database to the newest version. */
export const migrate = migrateTo(Record.map(released, ({ run }) => run))
