/**
 * A list of generations reads few rows, whatever its filter and even if it finds nothing: the plans
 * of real Postgres over many rows, in which the rare values are the oldest.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { matching } from "../../../src/store/ledger/GenerationFilters.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { nodesOf, planOf, rowsRead } from "../../support/plans.ts"
import { freshDatabase } from "../../support/Postgres.ts"
import { addPartition, fillWith, indexesBuilt, queries } from "./manyGenerations.ts"

const ROWS = 20_000
/** A page of 50, its margin, and the rows between that only one of two common filters selects. */
const MOST_READ = 1_000
const filled = Effect.gen(function* () {
  const context = yield* Layer.build(Sql.layerPostgres({ url: yield* freshDatabase }))
  const sql = Context.get(context, PgClient.PgClient)
  yield* indexesBuilt(sql)
  yield* addPartition(sql)
  for (const table of ["generations", "generations_archive"]) yield* fillWith(sql, table, ROWS)
  return sql
})

it.live(
  "each filter reads few rows, in the table and in the archive",
  () =>
    Effect.gen(function* () {
      const sql = yield* filled
      for (const table of ["generations", "generations_archive"] as const) {
        for (const query of queries) {
          const page = matching(sql, table, { keyId: null, limit: 50, cursor: null, ...query }, 51)
          const plan = yield* planOf(
            sql,
            sql`SELECT * FROM ${sql.literal(table)} WHERE id IN (${page}) ORDER BY id DESC LIMIT 51`
          )
          const scans = nodesOf(plan).map((node) => `${node["Node Type"]} ${node["Relation Name"] ?? ""}`)
          assert.isAtMost(
            rowsRead(plan, /^generations|^attempted/),
            MOST_READ,
            `${table} ${JSON.stringify(query)}: ${scans.join(", ")}`
          )
        }
      }
    }).pipe(Effect.scoped),
  120_000
)
