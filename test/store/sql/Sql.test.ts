/**
 * The database layers: migrations by several processes, and what happens while the database is
 * away.
 */
import type { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import { LedgerReports } from "../../../src/store/ledger/reports/LedgerReports.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { guard } from "../../../src/store/sql/SqlErrors.ts"
import { temporaryDataDir } from "../../support/Pglite.ts"
import { freshDatabase } from "../../support/Postgres.ts"
import { proxyTo } from "./databaseProxy.ts"

const layerAt = (url: Redacted.Redacted) => Layer.fresh(Sql.layerPostgres({ url }))

const clientAt = (url: Redacted.Redacted) => Effect.map(Layer.build(layerAt(url)), Context.get(SqlClient.SqlClient))

const proxied = Effect.gen(function* () {
  const proxy = yield* proxyTo(new URL(Redacted.value(yield* freshDatabase)))
  return { proxy, url: Redacted.make(proxy.url.href) }
})

it.effect("migrates once when several processes start at once on a fresh database", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const clients = yield* Effect.all(
      Array.from({ length: 4 }, () => clientAt(url)),
      { concurrency: "unbounded" }
    )
    for (const sql of clients) {
      const applied = yield* sql`SELECT migration_id, name FROM tollgate_migrations ORDER BY 1`
      assert.deepStrictEqual(applied[0], { migration_id: 1, name: "schema" })
      assert.deepStrictEqual(
        applied.map((row) => row["migration_id"]),
        applied.map((_, at) => at + 1)
      )
    }
    const again = yield* clientAt(url)
    assert.deepStrictEqual(yield* again`SELECT count(*) AS keys FROM api_keys`, [{ keys: 0 }])
  })
)

it.effect("limits statements on the server, and reports one that timed out as an unavailable database", () =>
  Effect.gen(function* () {
    const sql = yield* clientAt(yield* freshDatabase)
    assert.deepStrictEqual(yield* sql`SHOW statement_timeout`, [{ statement_timeout: "4s" }])
    const slow = sql.withTransaction(
      Effect.andThen(sql`SET LOCAL statement_timeout = '20ms'`, sql`SELECT pg_sleep(60)`)
    )
    const error = yield* Effect.flip(guard(slow))
    assert.deepStrictEqual(
      { tag: error._tag, dependency: error.dependency },
      { tag: "StoreError", dependency: "database" }
    )
  })
)

it.effect("reads a bigint as a number, and one beyond 2^53 as the nearest safe integer", () =>
  Effect.gen(function* () {
    const sql = yield* clientAt(yield* freshDatabase)
    assert.deepStrictEqual(yield* sql`SELECT ${9_007_199_254_740_991}::bigint AS n, (-5)::bigint AS m`, [
      { n: 9_007_199_254_740_991, m: -5 }
    ])
    assert.deepStrictEqual(yield* sql`SELECT ${"9223372036854775807"}::bigint AS n, (-9007199254740993)::bigint AS m`, [
      { n: 9_007_199_254_740_991, m: -9_007_199_254_740_991 }
    ])
  })
)

it.effect("reads reports and figures of sums that exceed a bigint", () =>
  Effect.gen(function* () {
    const built = yield* Layer.build(LedgerSql.layer.pipe(Layer.provideMerge(layerAt(yield* freshDatabase))))
    const sql = Context.get(built, SqlClient.SqlClient)
    const ledger = Context.get(built, Ledger)
    const reports = Context.get(built, LedgerReports)
    for (const day of [0, 1]) {
      yield* sql`INSERT INTO usage_days SELECT 'key_1', ${day}, 'a/b', 'a', NULL, n, n, n, n, n, n, n, n, n, n
        FROM (SELECT 9223372036854775807::bigint AS n) AS one`
      yield* sql`INSERT INTO budget_counters VALUES (${`key_${day}`}, '1970-01', 9223372036854775807, 0)`
    }
    const most = Number.MAX_SAFE_INTEGER
    const span = { keyId: null, ownerId: null, fromDay: 0, toDay: 2, limit: 10 }
    const { parts, total } = yield* reports.report({ ...span, groupBy: ["day", "key"] })
    assert.deepInclude(total, { requests: most, promptTokens: most, billedNano: most })
    assert.strictEqual(parts.get("day")?.rows.length, 2)
    assert.strictEqual((yield* reports.overview(0)).spentMonthNano, most)
    assert.strictEqual((yield* ledger.balances(["key_0"], "1970-01")).get("key_0")?.spentNano, most)
  })
)

it.effect("dies on a wrong statement and on a broken constraint", () =>
  Effect.gen(function* () {
    const sql = yield* clientAt(yield* freshDatabase)
    assert.isTrue(Exit.hasDies(yield* Effect.exit(guard(sql`SELECT nonsense`))))
    assert.isTrue(
      Exit.hasDies(yield* Effect.exit(guard(sql`INSERT INTO budget_counters VALUES ('key_1', '2026-11', 0, -1)`)))
    )
  })
)

it.effect("fails to build on a database that is down or unknown, without showing the password", () =>
  Effect.gen(function* () {
    const { proxy } = yield* proxied
    const url = new URL(proxy.url)
    url.password = "hunter2"
    yield* proxy.down
    const down = yield* Effect.flip(clientAt(Redacted.make(url.href)))
    assert.isTrue(down._tag === "StoreError" && down.dependency === "database")
    assert.notInclude(`${String(down)} ${JSON.stringify(down)} ${String(down.cause)}`, "hunter2")
    yield* proxy.up
    url.pathname = "/no_such_database"
    const unknown = yield* Effect.exit(clientAt(Redacted.make(url.href)))
    assert.isTrue(Exit.isFailure(unknown))
  })
)

it.effect("fails at once while the database is away, and recovers by itself", () =>
  Effect.gen(function* () {
    const { proxy, url } = yield* proxied
    const ledger = Context.get(yield* Layer.build(LedgerSql.layer.pipe(Layer.provide(layerAt(url)))), Ledger)
    yield* ledger.ping
    for (const _ of [1, 2]) {
      yield* proxy.down
      const errors = yield* Effect.all(
        Array.from({ length: 20 }, () => Effect.flip(ledger.ping)),
        { concurrency: "unbounded" }
      )
      assert.isTrue(errors.every((error) => error._tag === "StoreError" && error.dependency === "database"))
      yield* proxy.up
      yield* Effect.all(
        Array.from({ length: 20 }, () => ledger.ping),
        { concurrency: "unbounded" }
      )
    }
  })
)

const writable = Effect.fnUntraced(function* (layer: Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, unknown>) {
  const built = yield* Layer.build(LedgerSql.layer.pipe(Layer.provideMerge(Layer.fresh(layer))))
  const sql = Context.get(built, SqlClient.SqlClient)
  const { ping } = Context.get(built, Ledger)
  yield* ping
  yield* sql`SET default_transaction_read_only = on`
  assert.strictEqual((yield* Effect.flip(ping)).dependency, "database")
  yield* sql`SET default_transaction_read_only = off`
  yield* ping
  yield* ping
  assert.deepStrictEqual(yield* sql`SELECT count(*) AS rows FROM health_writes`, [{ rows: 1 }])
})

it.effect("counts a read-only database as unavailable", () =>
  Effect.gen(function* () {
    yield* writable(Sql.layerPostgres({ url: yield* freshDatabase, maxConnections: 1 }))
    yield* writable(Sql.layerEmbedded({ dataDir: yield* temporaryDataDir }))
  })
)

it.effect("gives up on a database that does not answer, and recovers when it does", () =>
  Effect.gen(function* () {
    const { proxy, url } = yield* proxied
    const ledger = Context.get(yield* Layer.build(LedgerSql.layer.pipe(Layer.provide(layerAt(url)))), Ledger)
    yield* ledger.ping
    const silent = proxy.freeze()
    const waiting = yield* Effect.forkChild(Effect.flip(ledger.ping))
    yield* Effect.promise(() => silent)
    yield* TestClock.adjust("5 seconds")
    const error = yield* Fiber.join(waiting)
    assert.deepStrictEqual(
      { tag: error._tag, dependency: error.dependency },
      { tag: "StoreError", dependency: "database" }
    )
    yield* proxy.thaw
    yield* ledger.ping
  })
)

it.effect("gives up on a group of writes that the database does not answer, and recovers when it does", () =>
  Effect.gen(function* () {
    const { proxy, url } = yield* proxied
    const ledger = Context.get(yield* Layer.build(LedgerSql.layer.pipe(Layer.provide(layerAt(url)))), Ledger)
    const write = ledger.void(`gen_${"0".repeat(32)}`)
    yield* write
    const silent = proxy.freeze()
    const waiting = yield* Effect.forkChild(Effect.flip(write))
    yield* Effect.promise(() => silent)
    yield* TestClock.adjust("6 seconds")
    assert.strictEqual((yield* Fiber.join(waiting)).dependency, "database")
    yield* proxy.thaw
    yield* write
  })
)
