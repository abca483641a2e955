/** Plans of Postgres: how many rows of which tables a statement reads. */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { type Statement } from "effect/sql"

export interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number
  readonly "Rows Removed by Index Recheck"?: number
  readonly Plans?: ReadonlyArray<PlanNode>
}

/** Runs a statement and returns its plan. */
export const planOf = (sql: PgClient.PgClient, statement: Statement.Fragment) =>
  Effect.flatMap(
    sql<{
      readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: PlanNode }>
    }>`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
    ([row]) => Effect.fromNullishOr(row?.["QUERY PLAN"][0]?.Plan).pipe(Effect.orDie)
  )

export const nodesOf = (node: PlanNode): ReadonlyArray<PlanNode> => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** How many rows of tables with these names a plan reads. A scan without a table counts. */
export const rowsRead = (plan: PlanNode, tables: RegExp): number =>
  nodesOf(plan)
    .filter(
      (node) =>
        node["Node Type"].endsWith("Scan") &&
        (node["Relation Name"] === undefined || tables.test(node["Relation Name"]))
    )
    .reduce(
      (sum, node) =>
        sum +
        (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0)) *
          node["Actual Loops"],
      0
    )
