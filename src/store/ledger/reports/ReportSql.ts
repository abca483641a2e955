/**
 * Usage by day from Postgres: one statement over the table `usage_days`, by the index of its keys,
 * owners or days.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Report, ReportFigures, ReportGroup, ReportPart, ReportQuery } from "./LedgerReports.ts"
import { guard } from "../../sql/SqlErrors.ts"

interface Row {
  /** The grouping that the row belongs to, or `total`. */
  readonly kind: ReportGroup | "total"
  readonly name: string | null
  readonly requests: number
  readonly failed: number
  readonly cache_hits: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cached_tokens: number
  readonly total_nano: number
  readonly markup_nano: number
  readonly billed_nano: number
  readonly saved_nano: number
}

const columns = {
  day: "day",
  model: "model",
  key: "key_id",
  owner: "owner_id",
  provider: "provider"
} as const satisfies Record<ReportGroup, string>

/** A day as a date. Null in rows that group by something else. */
const date = "to_char(DATE '1970-01-01' + day, 'YYYY-MM-DD')"

const summed = [
  "requests",
  "failed",
  "cache_hits",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "total_nano",
  "markup_nano",
  "billed_nano",
  "saved_nano"
]
  .map((column) => `least(coalesce(sum(${column}), 0), ${Number.MAX_SAFE_INTEGER})::bigint AS ${column}`)
  .join(", ")

export const makeReport = (sql: PgClient.PgClient) =>
  Effect.fn("LedgerReports.report")(function* ({
    fromDay,
    groupBy,
    keyId,
    limit,
    model,
    ownerId,
    provider,
    toDay
  }: ReportQuery) {
    const kinds = groupBy.map((by) => `WHEN grouping(${columns[by]}) = 0 THEN '${by}'`).join(" ")
    const names = groupBy.map((by) => (by === "day" ? date : columns[by])).join(", ")
    const sets = groupBy.map((by) => `(${columns[by]}), `).join("")
    const rows = yield* guard(
      sql<Row>`
        WITH found AS (
          SELECT CASE ${sql.literal(kinds)} ELSE 'total' END AS kind, coalesce(${sql.literal(names)}) COLLATE "C" AS name,
                 ${sql.literal(summed)}
          FROM usage_days
          WHERE ${sql.and([
            sql`day >= ${fromDay} AND day < ${toDay}`,
            ...(model === undefined ? [] : [sql`model = ${model}`]),
            ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
            ...(keyId === null ? [] : [sql`key_id = ${keyId}`]),
            ...(ownerId === null ? [] : [sql`owner_id = ${ownerId}`])
          ])}
          GROUP BY GROUPING SETS (${sql.literal(sets)}())
        )
        SELECT * FROM (
          SELECT *, row_number() OVER (
            PARTITION BY kind
            ORDER BY CASE WHEN kind = 'day' THEN 0 ELSE billed_nano END DESC, CASE WHEN kind = 'day' THEN 0 ELSE requests END DESC, name
          ) AS place FROM found
        ) AS placed WHERE place <= ${limit + 1} ORDER BY kind, place`
    )
    const total = rows.find(({ kind }) => kind === "total")
    if (total === undefined) return yield* Effect.die(new Error("a total answered no row, which is impossible"))
    const partOf = (by: ReportGroup): ReportPart => {
      const found = rows.filter(({ kind }) => kind === by)
      return {
        rows: found.slice(0, limit).map((row) => ({ group: row.name, ...figuresOf(row) })),
        hasMore: found.length > limit
      }
    }
    return {
      total: figuresOf(total),
      parts: new Map(groupBy.map((by) => [by, partOf(by)]))
    } satisfies Report
  })

const figuresOf = (row: Row): ReportFigures => ({
  requests: row.requests,
  failed: row.failed,
  cacheHits: row.cache_hits,
  promptTokens: row.prompt_tokens,
  completionTokens: row.completion_tokens,
  cachedTokens: row.cached_tokens,
  totalNano: row.total_nano,
  markupNano: row.markup_nano,
  billedNano: row.billed_nano,
  savedNano: row.saved_nano
})
