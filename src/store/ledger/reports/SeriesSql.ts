/**
 * The time series from Postgres. One statement uses the index of `created_at_ms`, and for the
 * archive that of the ids, which contain this time, whatever the number of keys.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { idBound } from "../../../domain/Ids.ts"
import type { LedgerBucket, Quantiles, SeriesSpan } from "./LedgerReports.ts"
import { guard } from "../../sql/SqlErrors.ts"

interface Bucket {
  readonly start_ms: number
  readonly requests: number
  readonly errors: Readonly<Record<string, number>> | null
  readonly cache_hits: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly billed_nano: number
  readonly saved_nano: number
  /** p50, p95, p99. Null if there are no rows. */
  readonly latency: ReadonlyArray<number> | null
  readonly first_token: ReadonlyArray<number> | null
}

export const makeSeries = (sql: PgClient.PgClient) =>
  Effect.fn("LedgerReports.series")(function* ({ fromMs, toMs, bucketMs }: SeriesSpan) {
    const rows = yield* guard(
      // Estimated generations have no measured latency.
      sql<Bucket>`
        WITH found AS (
          SELECT * FROM generations WHERE created_at_ms >= ${fromMs}::bigint AND created_at_ms < ${toMs}::bigint
          UNION ALL
          SELECT * FROM generations_archive WHERE id >= ${idBound("gen", fromMs)} AND id < ${idBound("gen", toMs)}
        ), within AS (
          SELECT *, created_at_ms / ${bucketMs}::bigint * ${bucketMs}::bigint AS start_ms FROM found
        ), failed AS (
          SELECT start_ms, jsonb_object_agg(error_type, requests) AS errors
          FROM (
            SELECT start_ms, error_type, count(*) AS requests
            FROM within WHERE error_type IS NOT NULL GROUP BY start_ms, error_type
          ) AS by_type GROUP BY start_ms
        )
        SELECT totals.*, failed.errors FROM (
          SELECT start_ms,
                 count(*) AS requests,
                 count(*) FILTER (WHERE cache_hit) AS cache_hits,
                 least(sum(prompt_tokens), 9007199254740991)::bigint AS prompt_tokens,
                 least(sum(completion_tokens), 9007199254740991)::bigint AS completion_tokens,
                 least(sum(billed_nano), 9007199254740991)::bigint AS billed_nano,
                 least(coalesce(sum(cache_discount_nano) FILTER (WHERE cache_hit), 0), 9007199254740991)::bigint AS saved_nano,
                 percentile_cont(ARRAY[0.5, 0.95, 0.99]::float8[]) WITHIN GROUP (ORDER BY latency_ms)
                   FILTER (WHERE usage_source <> 'estimated') AS latency,
                 percentile_cont(ARRAY[0.5, 0.95, 0.99]::float8[]) WITHIN GROUP (ORDER BY time_to_first_token_ms)
                   FILTER (WHERE time_to_first_token_ms IS NOT NULL) AS first_token
          FROM within GROUP BY start_ms
        ) AS totals LEFT JOIN failed ON failed.start_ms = totals.start_ms
        ORDER BY totals.start_ms`
    )
    return rows.map(bucketOf)
  })

const quantiles = (values: ReadonlyArray<number> | null): Quantiles | null => {
  const [p50, p95, p99] = values ?? []
  return p50 === undefined || p95 === undefined || p99 === undefined ? null : { p50, p95, p99 }
}

const bucketOf = (row: Bucket): LedgerBucket => ({
  startMs: row.start_ms,
  requests: row.requests,
  errors: row.errors ?? {},
  cacheHits: row.cache_hits,
  promptTokens: row.prompt_tokens,
  completionTokens: row.completion_tokens,
  billedNano: row.billed_nano,
  savedNano: row.saved_nano,
  latencyMs: quantiles(row.latency),
  timeToFirstTokenMs: quantiles(row.first_token)
})
