/** `tollgate upgrade --check`: on both databases, before and after their migrations. */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Sql } from "../../src/store/sql/Sql.ts"
import { migrateTo, released } from "../../src/store/sql/Migrations.ts"
import { temporaryDirectory } from "../support/Gateway.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { startLine } from "./line.ts"

/** Starts processes and databases, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 })

interface Migration {
  readonly name: string
  readonly changes: string
  readonly locks: string
  readonly old_version: string
  readonly table: string | null
  readonly rows: number | null
}

interface Printed {
  readonly verdict: string
  readonly faults: ReadonlyArray<unknown>
  readonly obstacles: ReadonlyArray<string>
  readonly database_at: string
  readonly database: {
    readonly is_new: boolean
    readonly pending_migrations: ReadonlyArray<Migration>
    readonly newer_migrations: ReadonlyArray<string>
    readonly indexes: ReadonlyArray<string>
  } | null
}

const check = Effect.fnUntraced(function* (cwd: string, env: Readonly<Record<string, string>> = {}) {
  const { ended } = yield* startLine(["upgrade", "--check", "--json"], { cwd, env })
  const { code, stderr, stdout } = yield* ended
  return { code, stderr, printed: (stdout === "" ? null : JSON.parse(stdout)) as Printed | null }
})

const clientOf = (url: Redacted.Redacted) => Layer.fresh(PgClient.layer({ url, maxConnections: 1 }))

/** Every file below a directory, with what is in it and when it was written. */
const filesOf = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => [name, statSync(join(directory, name))] as const)
    .map(([name, stat]) =>
      stat.isFile()
        ? `${name} ${stat.mtimeMs} ${createHash("sha256")
            .update(readFileSync(join(directory, name)))
            .digest("hex")}`
        : name
    )
    .sort()

describe("upgrade --check", () => {
  it.live("tells the pending migrations of a Postgres and the indexes to come, and changes nothing", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryDirectory
      const url = yield* freshDatabase
      const env = { DATABASE_URL: Redacted.value(url) }
      const empty = yield* check(cwd, env)
      assert.strictEqual(empty.code, 4)
      assert.isTrue(empty.printed?.database?.is_new)

      // As the version before the filters left it, with an archive that was analysed.
      yield* Effect.gen(function* () {
        const { "0001_schema": schema, "0002_refusals": refusals } = released
        if (schema === undefined || refusals === undefined) return assert.fail("there are no migrations")
        const sql = yield* SqlClient.SqlClient
        yield* migrateTo({ "0001_schema": schema.run, "0002_refusals": refusals.run })
        yield* sql`ANALYZE generations_archive`
      }).pipe(Effect.provide(clientOf(url)))
      const old = yield* check(cwd, env)
      assert.deepStrictEqual([old.code, old.printed?.verdict], [4, "changes"])
      const pending = old.printed?.database?.pending_migrations ?? []
      assert.deepStrictEqual(
        pending.map(({ name }) => name),
        Object.keys(released).slice(2)
      )
      const filters = pending.find(({ name }) => name === "0004_request_filters")
      assert.match(filters?.changes ?? "", /^Adds ten indexes/)
      assert.deepInclude(filters, { table: "generations_archive", rows: 0 })
      assert.include(old.printed?.database?.indexes.join(" "), "generations_fallback")
      assert.notInclude(JSON.stringify(old), new URL(Redacted.value(url)).password || "no-password")
      const again = yield* check(cwd, env)
      assert.deepStrictEqual(again.printed, old.printed)

      // This version's own start, with its indexes.
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const built = sql<{ readonly count: number }>`
          SELECT count(*)::integer AS count FROM pg_index WHERE indisvalid AND indrelid = 'generations'::regclass
            AND indexrelid::regclass::text LIKE ANY (ARRAY['generations_request', 'generations_cache_hit'])`
        while (((yield* built)[0]?.count ?? 0) < 2) yield* Effect.yieldNow
      }).pipe(Effect.provide(Sql.layerPostgres({ url })))
      const current = yield* check(cwd, env)
      assert.deepStrictEqual([current.code, current.printed?.verdict], [0, "none"])

      yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`INSERT INTO tollgate_migrations (migration_id, name) VALUES (9001, 'later')`
      ).pipe(Effect.provide(clientOf(url)))
      const newer = yield* check(cwd, env)
      assert.deepStrictEqual([newer.code, newer.printed?.database?.newer_migrations], [0, ["9001_later"]])

      yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`DELETE FROM tollgate_migrations WHERE migration_id = 2`
      ).pipe(Effect.provide(clientOf(url)))
      const foreign = yield* check(cwd, env)
      assert.deepStrictEqual([foreign.code, foreign.printed?.verdict], [1, "refused"])
      assert.include(foreign.printed?.obstacles.join(), "it lacks 0002_refusals")
    })
  )

  it.live("reads the embedded database of a stopped gateway without writing to it", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryDirectory
      const none = yield* check(cwd)
      assert.deepStrictEqual([none.code, none.printed?.verdict], [4, "changes"])
      assert.isFalse(existsSync(join(cwd, ".tollgate")))

      const gateway = yield* startLine(["start"], { cwd, env: { TOLLGATE_PORT: "0", TOLLGATE_LOG_FORMAT: "json" } })
      yield* gateway.matched(/"message":"(ready)"/)
      const busy = yield* check(cwd)
      assert.deepStrictEqual([busy.code, busy.printed?.verdict], [1, "refused"])
      assert.include(busy.printed?.obstacles.join(), `in use by another process (${gateway.child.pid})`)
      gateway.child.kill("SIGTERM")
      assert.strictEqual((yield* gateway.ended).code, 0)

      const before = filesOf(join(cwd, ".tollgate"))
      const current = yield* check(cwd)
      assert.deepStrictEqual(current.printed?.database?.pending_migrations, [])
      // The gateway may have been stopped before it had built its indexes.
      assert.strictEqual(current.code, current.printed?.database?.indexes.length === 0 ? 0 : 4)
      assert.deepStrictEqual(filesOf(join(cwd, ".tollgate")), before)
    })
  )

  it.live("refuses wrong settings, an unusable directory and an unreachable database", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryDirectory
      writeFileSync(join(cwd, "taken"), "a file")
      const directory = yield* check(cwd, { TOLLGATE_DATA_DIR: "./taken", TOLLGATE_PROT: "1" })
      assert.deepStrictEqual([directory.code, directory.printed?.verdict], [1, "refused"])
      assert.include(directory.printed?.obstacles.join(), "./taken is not a directory")
      assert.deepInclude(directory.printed?.faults[0], {
        setting: "TOLLGATE_PROT",
        problem: "is unknown, did you mean TOLLGATE_PORT?"
      })
      const url = "postgres://u:nobody-may-see@127.0.0.1:1/x"
      const down = yield* check(cwd, { DATABASE_URL: url })
      assert.deepStrictEqual([down.code, down.printed], [3, null])
      assert.include(down.stderr, "ECONNREFUSED")
      assert.notInclude(down.stderr, "nobody-may-see")
      mkdirSync(join(cwd, "broken", "db"), { recursive: true, mode: 0o700 })
      writeFileSync(join(cwd, "broken", "db", "PG_VERSION"), "11\n")
      const broken = yield* check(cwd, { TOLLGATE_DATA_DIR: "./broken" })
      assert.strictEqual(broken.code, 1)
      assert.include(broken.printed?.obstacles.join(), "cannot be used")

      const { ended } = yield* startLine(["upgrade"], { cwd })
      const bare = yield* ended
      assert.deepStrictEqual([bare.code, bare.stdout], [2, ""])
      assert.include(bare.stderr, "tollgate upgrade --check")
    })
  )
})
