/**
 * What this version's start would change in a database: pending migrations with their facts, and
 * indexes that would be built. It changes nothing: a Postgres is read in read-only transactions,
 * and of an embedded database a temporary copy is opened, because opening one writes to its files.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { holdUnused } from "../embedded/DataDirLock.ts"
import { embeddedStreams } from "../embedded/Embedded.ts"
import { generationIndexes } from "../ledger/Indexes.ts"
import { LIMIT, within } from "./Connectivity.ts"
import { type MigrationFacts } from "./MigrationFacts.ts"
import { appliedMigrations, foreignSchema, lackingMigrations, released } from "./Migrations.ts"

export interface PendingMigration extends MigrationFacts {
  readonly name: string
  /**
   * About how many rows `growsWith` has. Null: it takes no noticeable time, or the table is new.
   */
  readonly rows: number | null
}

export interface DatabaseReport {
  readonly isNew: boolean
  readonly pending: ReadonlyArray<PendingMigration>
  /** Migrations of a newer version, which this one does not know. */
  readonly newer: ReadonlyArray<string>
  /** Indexes that are built after the start, while requests run. */
  readonly indexes: ReadonlyArray<string>
  /** Why this version refuses the database. Null: it does not. */
  readonly refusal: string | null
}

/** A database without a table. */
export const newDatabase: DatabaseReport = {
  isNew: true,
  pending: Object.entries(released).map(([name, { facts }]) => ({ name, ...facts, rows: null })),
  newer: [],
  indexes: [],
  refusal: null
}

/** `reltuples` is -1 for a table that was never analysed: those are counted. */
const rowsOf = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly rows: number }>`
    SELECT reltuples::float8 AS rows FROM pg_class WHERE oid = to_regclass(${table})`
  if (found === undefined || found.rows >= 0) return found?.rows ?? null
  const [counted] = yield* sql<{ readonly rows: number }>`SELECT count(*)::float8 AS rows FROM ${sql(table)}`
  return counted?.rows ?? null
})

const report = Effect.gen(function* () {
  const applied = yield* appliedMigrations
  if (applied.length === 0) return newDatabase
  const known = Object.keys(released)
  const missing = lackingMigrations(known, applied)
  const sql = yield* SqlClient.SqlClient
  const valid = yield* sql<{ readonly name: string }>`
    SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indisvalid AND indrelid = to_regclass('generations')`
  const built = new Set(valid.map(({ name }) => name))
  const pending = Object.entries(released).filter(([name]) => !applied.includes(name))
  return {
    isNew: false,
    pending: yield* Effect.forEach(missing.length > 0 ? [] : pending, ([name, { facts }]) =>
      Effect.map(facts.growsWith === undefined ? Effect.succeed(null) : rowsOf(facts.growsWith), (rows) => ({
        name,
        ...facts,
        rows
      }))
    ),
    newer: applied.filter((name) => !known.includes(name)),
    indexes: Object.keys(generationIndexes).filter((name) => !built.has(name)),
    refusal: missing.length > 0 ? foreignSchema(missing, applied) : null
  } satisfies DatabaseReport
})

const reported = <E>(client: Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, E>) =>
  Effect.flatMap(Layer.build(client), (services) =>
    Effect.provideService(report, SqlClient.SqlClient, Context.get(services, SqlClient.SqlClient))
  )

/** Fails if the server does not answer within some seconds. The gateway may run meanwhile. */
export const examinePostgres = (url: Redacted.Redacted) =>
  within(
    reported(
      PgClient.layer({
        url,
        applicationName: "tollgate",
        maxConnections: 1,
        connectTimeout: LIMIT,
        startupParameters: { default_transaction_read_only: "on" }
      })
    )
  )

/** Fails with `DataDirError` while a gateway uses the directory. */
export const examineEmbedded = (dataDir: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const database = join(dataDir, "db")
      if (!existsSync(database)) return newDatabase
      const copy = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "tollgate-upgrade-"))),
        (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
      )
      yield* holdUnused(dataDir, () => cpSync(database, join(copy, "db"), { recursive: true }))
      const streams = yield* embeddedStreams(copy)
      return yield* reported(
        PgClient.layerFrom(
          PgClient.make({ stream: streams, username: "postgres", database: "postgres", maxConnections: 1 })
        )
      )
    })
  )
