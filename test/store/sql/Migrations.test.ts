/**
 * How migrations run, and which databases they refuse: on both engines, with migrations made for
 * the tests.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Layer, type Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { readdirSync, readFileSync } from "node:fs"
import { embeddedStreams } from "../../../src/store/embedded/Embedded.ts"
import { type Migrations, migrateTo, released } from "../../../src/store/sql/Migrations.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { temporaryDataDir } from "../../support/Pglite.ts"
import { freshDatabase } from "../../support/Postgres.ts"

/** Each test opens several databases, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

/** A database that can be opened unmigrated, or as the gateway opens it. */
interface Place {
  readonly raw: Layer.Layer<SqlClient.SqlClient, unknown>
  readonly gateway: Layer.Layer<SqlClient.SqlClient, unknown>
}

const onPostgres = (url: Redacted.Redacted): Place => ({
  raw: Layer.fresh(PgClient.layer({ url, maxConnections: 1 })),
  gateway: Layer.fresh(Sql.layerPostgres({ url }))
})

const onEmbedded = (dataDir: string): Place => ({
  raw: Layer.fresh(
    PgClient.layerFrom(
      Effect.flatMap(embeddedStreams(dataDir), (stream) =>
        PgClient.make({ stream, username: "postgres", database: "postgres", maxConnections: 1 })
      )
    )
  ),
  gateway: Layer.fresh(Sql.layerEmbedded({ dataDir }))
})

/** A migration of one statement. */
const step = (statement: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement))

const steps: Migrations = {
  "0001_people": step("CREATE TABLE people (name text)"),
  "0002_index": step("CREATE INDEX people_name ON people (name)"),
  "0003_age": step("ALTER TABLE people ADD COLUMN age integer")
}

/** The first of `steps`. */
const upTo = (count: number): Migrations => Object.fromEntries(Object.entries(steps).slice(0, count))

/**
 * Everything that a migration could change: relations with their columns, functions, and the
 * applied migrations.
 */
const contents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT c.relname::text AS name, a.attname::text AS part FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL SELECT proname::text, 'function' FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT migration_id::text, name FROM tollgate_migrations
    ORDER BY 1, 2`
})

const applied = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT migration_id, name FROM tollgate_migrations ORDER BY 1`
)

const messageOf = (error: unknown): string =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  error._tag === "MigrationError" &&
  "message" in error
    ? String(error.message)
    : `no MigrationError: ${String(error)}`

/** The applied migrations of databases from before the first release. */
const earlier: ReadonlyArray<{ readonly which: string; readonly rows: ReadonlyArray<readonly [number, string]> }> = [
  { which: "the first migration", rows: [[1, "initial"]] },
  {
    which: "many migrations, with gaps",
    rows: [
      [1, "initial"],
      [2, "ledger_groups"],
      [7, "key_privacy"],
      [18, "sign_up_rules"]
    ]
  }
]

const suite = (name: string, place: Effect.Effect<Place, unknown, Scope.Scope>) =>
  describe(name, () => {
    it.effect("applies pending migrations in order, and none twice", () =>
      Effect.gen(function* () {
        const { raw } = yield* place
        yield* Effect.gen(function* () {
          yield* migrateTo(upTo(1))
          assert.deepStrictEqual(yield* applied, [{ migration_id: 1, name: "people" }])
          yield* migrateTo(steps)
          const before = yield* contents
          assert.includeDeepMembers(
            [...before],
            [
              { name: "people_name", part: "name" },
              { name: "people", part: "age" }
            ]
          )
          yield* migrateTo(steps)
          assert.deepStrictEqual(yield* contents, before)
        }).pipe(Effect.provide(raw))
      })
    )

    it.effect("applies all pending migrations or none", () =>
      Effect.gen(function* () {
        const { raw } = yield* place
        yield* Effect.gen(function* () {
          yield* migrateTo(upTo(1))
          const before = yield* contents
          const broken = { ...upTo(2), "0003_broken": step("CREATE INDEX people_age ON people (age)") }
          assert.include(messageOf(yield* Effect.flip(migrateTo(broken))), `"3_broken"`)
          assert.deepStrictEqual(yield* contents, before)
        }).pipe(Effect.provide(raw))
      })
    )

    it.effect(
      "opens a database with migrations of a newer version, and refuses one that lacks an older migration",
      () =>
        Effect.gen(function* () {
          const { raw } = yield* place
          yield* Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* migrateTo(steps)
            yield* migrateTo(upTo(1))
            yield* migrateTo({ "0001_people": Effect.void, "0003_age": Effect.void })
            yield* sql`DELETE FROM tollgate_migrations WHERE migration_id = 2`
            assert.include(
              messageOf(yield* Effect.flip(migrateTo(steps))),
              "it lacks 0002_index, and has 0001_people to 0003_age."
            )
            yield* migrateTo(upTo(1))
            yield* sql`UPDATE tollgate_migrations SET name = 'things' WHERE migration_id = 1`
            assert.include(
              messageOf(yield* Effect.flip(migrateTo(steps))),
              "it lacks 0001_people, 0002_index, and has 0001_things to"
            )
            assert.include(
              messageOf(yield* Effect.flip(migrateTo(upTo(1)))),
              "it lacks 0001_people, and has 0001_things to"
            )
          }).pipe(Effect.provide(raw))
        })
    )

    it.effect.each(earlier)("refuses a database of an earlier commit and leaves it unchanged: $which", ({ rows }) =>
      Effect.gen(function* () {
        const { gateway, raw } = yield* place
        const before = yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`CREATE TABLE tollgate_migrations (migration_id integer PRIMARY KEY, name text NOT NULL)`
          for (const [id, one] of rows) yield* sql`INSERT INTO tollgate_migrations VALUES (${id}, ${one})`
          yield* sql`CREATE TABLE api_keys (id text PRIMARY KEY)`
          return yield* contents
        }).pipe(Effect.provide(raw))
        for (const _ of [1, 2]) {
          const message = messageOf(yield* Effect.flip(Effect.scoped(Layer.build(gateway))))
          assert.match(message, /it lacks 0001_schema, .*and has 0001_initial/)
          assert.include(message, "Nothing was changed. Either run the version that made it, or dump what you need")
        }
        assert.deepStrictEqual(yield* contents.pipe(Effect.provide(raw)), before)
      })
    )
  })

suite("Postgres", Effect.map(freshDatabase, onPostgres))
suite("embedded", Effect.map(temporaryDataDir, onEmbedded))

describe("each migration", () => {
  it("tells in whole sentences what it changes, what it locks and whether the old version can stay", () => {
    const names = Object.keys(released)
    const files = readdirSync(new URL("../../../src/store/migrations/", import.meta.url)).filter((name) =>
      name.endsWith(".ts")
    )
    assert.deepStrictEqual(
      names.map((name) => `${name}.ts`),
      files.sort()
    )
    const tables = readFileSync(new URL("../../../src/store/migrations/0001/archive.ts", import.meta.url), "utf8")
    for (const { facts } of Object.values(released)) {
      for (const sentence of [facts.changes, facts.locks, facts.oldVersion]) assert.match(sentence, /^[A-Z].{20,}\.$/)
      if (facts.growsWith !== undefined) assert.include(tables, facts.growsWith)
    }
  })
})
