/**
 * How long a page of a list of generations takes, for each filter, over many generations in a
 * Postgres of its own. Exits with 1 if one takes longer than 100 ms. Run nothing else meanwhile.
 *
 *   node scripts/bench/filters.ts [--rows 3000000]
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { parseArgs } from "node:util"
import { makeGenerationStore } from "../../src/store/ledger/GenerationStoreSql.ts"
import { Sql } from "../../src/store/sql/Sql.ts"
import { fillWith, indexesBuilt, queries } from "../../test/store/ledger/manyGenerations.ts"
import { startPostgres } from "../../test/support/Postgres.ts"

const LIMIT_MS = 100
const TIMES = 5
const PAGE = 50

const { values } = parseArgs({ options: { rows: { type: "string", default: "3000000" } } })
const rows = Number(values.rows)

const measured = Effect.gen(function* () {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => startPostgres()),
    ({ stop }) => Effect.promise(() => stop())
  )
  const context = yield* Layer.build(Sql.layerPostgres({ url: Redacted.make(server.url), maxConnections: 2 }))
  const sql = Context.get(context, PgClient.PgClient)
  yield* indexesBuilt(sql)
  yield* sql.withTransaction(Effect.andThen(sql`SET LOCAL statement_timeout = 0`, fillWith(sql, "generations", rows)))
  const store = makeGenerationStore(sql)
  let slowest = 0
  // A search that finds many names.
  const search = {
    models: ["m0", "m1", "m2"],
    keyIds: ["key_0", "key_1"],
    ownerIds: ["usr_0", "usr_1"],
    requestIds: []
  }
  for (const query of [...queries, { among: search }]) {
    const asked = { keyId: null, limit: PAGE, ...query }
    for (const by of ["newest", "cost", "latency"] as const) {
      const times: Array<number> = []
      for (let time = 0; time < TIMES; time++) {
        const began = performance.now()
        yield* by === "newest" ? store.list({ cursor: null, ...asked }) : store.top(asked, by)
        times.push(performance.now() - began)
      }
      const median = times.sort((a, b) => a - b)[Math.floor(TIMES / 2)] ?? 0
      slowest = Math.max(slowest, median)
      console.log(`${median.toFixed(1).padStart(8)} ms  ${by} ${JSON.stringify(query)}`)
    }
  }
  return slowest
})

const slowest = await Effect.runPromise(Effect.scoped(measured))
console.log(`${rows} generations: the slowest filter takes ${slowest.toFixed(1)} ms`)
if (slowest > LIMIT_MS) process.exitCode = 1
