/**
 * The migrations, in order, and how they run: forward only, all pending ones in one transaction under an advisory lock, so that
 * processes that start at once migrate once and the others wait. A migration that was released never changes; the next one has the next number.
 * A database that lacks a migration below its newest one is refused.
 */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { type SqlError } from "effect/sql/SqlError"
import initial from "./migrations/0001_initial.ts"
import ledgerGroups from "./migrations/0002_ledger_groups.ts"
import signIn from "./migrations/0003_sign_in.ts"
import usageAndRetries from "./migrations/0004_usage_and_retries.ts"
import keyPrivacy from "./migrations/0007_key_privacy.ts"
import usageIndexes from "./migrations/0008_usage_indexes.ts"
import notices from "./migrations/0009_notices.ts"
import generationIndexes from "./migrations/0010_generation_indexes.ts"
import generationArchive from "./migrations/0011_generation_archive.ts"
import ledgerReplays from "./migrations/0012_ledger_replays.ts"
import signInNetworks from "./migrations/0014_sign_in_networks.ts"
import ledgerTruth from "./migrations/0015_ledger_truth.ts"
import liveProcesses from "./migrations/0016_live_processes.ts"
import healthWrites from "./migrations/0017_health_writes.ts"
import signUpRules from "./migrations/0018_sign_up_rules.ts"
import { databaseError, isUnavailable } from "./SqlFault.ts"
import { type StoreError } from "./StoreError.ts"

/** Names the lock among all advisory locks of the database: the bytes of `toll`. */
const LOCK_ID = 0x746f6c6c

const TABLE = "tollgate_migrations"

const migrations = {
  "0001_initial": initial,
  "0002_ledger_groups": ledgerGroups,
  "0003_sign_in": signIn,
  "0004_usage_and_retries": usageAndRetries,
  "0007_key_privacy": keyPrivacy,
  "0008_usage_indexes": usageIndexes,
  "0009_notices": notices,
  "0010_generation_indexes": generationIndexes,
  "0011_generation_archive": generationArchive,
  "0012_ledger_replays": ledgerReplays,
  "0014_sign_in_networks": signInNetworks,
  "0015_ledger_truth": ledgerTruth,
  "0016_live_processes": liveProcesses,
  "0017_health_writes": healthWrites,
  "0018_sign_up_rules": signUpRules
}

const run = Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: TABLE })

/**
 * Only what is newer than the newest applied migration is ever run, so one that is older and was not applied never would be. Newer ones that
 * this version does not know are no fault: it may run beside a newer version, or after one.
 */
const refuseGaps = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [table] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${TABLE}) IS NOT NULL AS exists`
  if (table?.exists !== true) return
  const applied = yield* sql<{ readonly id: number; readonly file: string }>`
    SELECT migration_id AS id, lpad(migration_id::text, 4, '0') || '_' || name AS file FROM ${sql(TABLE)}`
  const newest = Math.max(0, ...applied.map(({ id }) => id))
  const files = new Set(applied.map(({ file }) => file))
  const missing = Object.keys(migrations).filter((file) => Number.parseInt(file, 10) <= newest && !files.has(file))
  if (missing.length === 0) return
  return yield* new Migrator.MigrationError({
    kind: "BadState",
    message:
      `the database was migrated up to number ${newest} without ${missing.join(", ")}: another line of development made it. ` +
      "Start the version that made it, or let this one begin with an empty database or a restored backup"
  })
})

/** Brings the database up to date. A `MigrationError` names the migration that failed. */
export const migrate: Effect.Effect<void, StoreError | Migrator.MigrationError, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        // Migrations may run long, and another process's migrations are waited for; neither without an end.
        yield* sql`SET LOCAL statement_timeout = '600s'`
        yield* sql`SET LOCAL lock_timeout = '120s'`
        yield* sql`SELECT 1 FROM (SELECT pg_advisory_xact_lock(${LOCK_ID}::bigint)) AS locked`
        yield* refuseGaps
        yield* run
      })
    )
  }
).pipe(
  Effect.catchTag("SqlError", (error: SqlError) =>
    isUnavailable(error) ? Effect.fail(databaseError(error)) : Effect.die(error)
  )
)
