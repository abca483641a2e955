/**
 * A list of generations reads few rows, whatever its filter and even if it finds nothing: the plans
 * of real Postgres over many rows, in which the rare values are the oldest.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { generationIndexes } from "../../../src/store/ledger/Indexes.ts"
import { matching } from "../../../src/store/ledger/GenerationFilters.ts"
import { type GenerationQuery } from "../../../src/store/ledger/GenerationStore.ts"
import { idBound } from "../../../src/domain/Ids.ts"
import { buildIndexes } from "../../../src/store/sql/Indexes.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { freshDatabase } from "../../support/Postgres.ts"

const ROWS = 20_000
/** A page of 50 and its margin. */
const MOST_READ = 500
const nobody = "nobody"

/**
 * Every tenth row failed, every fifth one fell back from `beta` to `alpha`. The first row alone has
 * the rare values.
 */
const filled = Effect.gen(function* () {
  const context = yield* Layer.build(Sql.layerPostgres({ url: yield* freshDatabase }))
  const sql = Context.get(context, PgClient.PgClient)
  yield* Effect.provide(buildIndexes(generationIndexes), context)
  for (const table of ["generations", "generations_archive"]) {
    if (table === "generations_archive") {
      yield* sql`CREATE TABLE generations_1970_01 PARTITION OF generations_archive
        FOR VALUES FROM (${sql.literal(`'${idBound("gen", 0)}'`)}) TO (${sql.literal(`'${idBound("gen", 2_678_400_000)}'`)})`
    }
    yield* sql`
      INSERT INTO ${sql.literal(table)}
      SELECT 'gen_' || lpad(to_hex(n), 12, '0') || lpad(n::text, 20, '0'),
        CASE n WHEN 1 THEN 'key_rare' ELSE 'key_' || n % 3 END, CASE n WHEN 1 THEN 'usr_rare' ELSE 'usr_' || n % 3 END,
        CASE n WHEN 1 THEN 'rare' ELSE 'm' || n % 3 END, CASE n WHEN 1 THEN 'rare' ELSE 'alpha' END,
        '1970-01', n, 1, 1, 0, 'provider', 1, 1, 0, 2, 0, 2, 5, NULL, n % 5 = 0, n = 1, false, n = 1, 'stop',
        CASE WHEN n = 1 THEN 'rare' WHEN n % 10 = 0 THEN 'provider_error' END,
        jsonb_build_object(
          'request', jsonb_build_object('id', 'req_' || n, 'status', CASE WHEN n = 1 THEN 418 WHEN n % 10 = 0 THEN 502 ELSE 200 END),
          'attempts', CASE WHEN n = 2 THEN '[{"provider":"gone"},{"provider":"alpha"}]'
            WHEN n % 5 = 0 THEN '[{"provider":"beta"},{"provider":"alpha"}]' ELSE '[{"provider":"alpha"}]' END::jsonb)
      FROM generate_series(1, ${ROWS}) AS n`
    yield* sql`ANALYZE ${sql.literal(table)}`
    // The trigger has noted those of one table, which have the ids of the other.
    yield* sql`ANALYZE attempted_providers`
  }
  return sql
})

interface Node {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number
  readonly "Rows Removed by Index Recheck"?: number
  readonly Plans?: ReadonlyArray<Node>
}

const nodesOf = (node: Node): ReadonlyArray<Node> => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** How many rows of the table a plan reads. */
const readBy = (plan: Node): number =>
  nodesOf(plan)
    .filter(
      (node) =>
        node["Node Type"].endsWith("Scan") && /^generations|^attempted/.test(node["Relation Name"] ?? "generations")
    )
    .reduce(
      (sum, node) =>
        sum +
        (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0)) *
          node["Actual Loops"],
      0
    )

const among = { models: [nobody], keyIds: [nobody], ownerIds: [nobody], requestIds: [nobody] }

const queries: ReadonlyArray<Partial<GenerationQuery>> = [
  {},
  { fromMs: 1, toMs: 3 },
  ...["m1", "rare", nobody].map((model) => ({ model })),
  ...["key_1", "key_rare", nobody].map((keyId) => ({ keyId })),
  ...["usr_1", "usr_rare", nobody].map((ownerId) => ({ ownerId })),
  ...["alpha", "rare", nobody].map((provider) => ({ provider })),
  ...["any", "none", "provider_error", "rare", nobody].map((error) => ({ error })),
  ...["alpha", "beta", "gone", nobody].map((attempted) => ({ attempted })),
  ...[200, 502, 418, 404].map((status) => ({ status })),
  ...["req_1", "req_19999", nobody].map((requestId) => ({ requestId })),
  { id: nobody },
  { fallbackUsed: true },
  { cacheHit: true },
  { cancelled: true },
  { among },
  { among: { ...among, models: ["m1", "rare"], keyIds: ["key_rare"] } },
  { keyId: "key_rare", error: "any" },
  { model: "m1", error: "rare" },
  { ownerId: "usr_1", fallbackUsed: true },
  { keyId: "key_1", error: "any", fromMs: 5, toMs: 6 }
]

it.live(
  "each filter reads few rows, in the table and in the archive",
  () =>
    Effect.gen(function* () {
      const sql = yield* filled
      for (const table of ["generations", "generations_archive"] as const) {
        for (const query of queries) {
          const page = matching(sql, table, { keyId: null, limit: 50, cursor: null, ...query }, 51)
          const [row] = yield* sql<{ readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: Node }> }>`
            EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM ${sql.literal(table)} WHERE id IN (${page}) ORDER BY id DESC LIMIT 51`
          const plan = row?.["QUERY PLAN"][0]?.Plan
          assert(plan !== undefined)
          const scans = nodesOf(plan).map((node) => `${node["Node Type"]} ${node["Relation Name"] ?? ""}`)
          assert.isAtMost(readBy(plan), MOST_READ, `${table} ${JSON.stringify(query)}: ${scans.join(", ")}`)
        }
      }
    }).pipe(Effect.scoped),
  120_000
)
