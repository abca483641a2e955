/**
 * The figures of the admin overview from Postgres: three aggregate statements, each over an index.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { LedgerOverview, LedgerReports } from "./LedgerReports.ts"
import { modelSpendOf, monthByModel, periodsOf } from "./Periods.ts"
import { guard } from "../../sql/SqlErrors.ts"

interface Recent {
  readonly last_5m: number
  readonly last_24h: number
  readonly failed: number
  readonly cache_hits: number
  readonly saved_nano: number
  readonly today_nano: number
  /** p50, p95, p99. Null if there are no rows. */
  readonly quantiles: ReadonlyArray<number> | null
}

interface Balances {
  readonly month_nano: number
  readonly reserved_nano: number
  readonly pending: number
  readonly oldest_ms: number | null
}

/** `flushLagMs`: the age of the oldest entry of this process that is not written yet. */
export const makeOverview = (
  sql: PgClient.PgClient,
  report: LedgerReports["Service"]["report"],
  flushLagMs: Effect.Effect<number>
) =>
  Effect.fn("LedgerReports.overview")(function* (nowMs: number) {
    const { last5mMs, last24hMs, todayMs, month } = periodsOf(nowMs)

    const recent = yield* guard(
      // Estimated generations have no measured latency.
      sql<Recent>`
        SELECT count(*) FILTER (WHERE created_at_ms > ${last5mMs}::bigint) AS last_5m,
               count(*) AS last_24h,
               count(*) FILTER (WHERE error_type IS NOT NULL) AS failed,
               count(*) FILTER (WHERE cache_hit) AS cache_hits,
               least(coalesce(sum(cache_discount_nano) FILTER (WHERE cache_hit), 0), 9007199254740991)::bigint AS saved_nano,
               least(coalesce(sum(billed_nano) FILTER (WHERE created_at_ms >= ${todayMs}::bigint), 0), 9007199254740991)::bigint AS today_nano,
               percentile_cont(ARRAY[0.5, 0.95, 0.99]::float8[]) WITHIN GROUP (ORDER BY latency_ms)
                 FILTER (WHERE usage_source <> 'estimated') AS quantiles
        FROM generations WHERE created_at_ms > ${last24hMs}::bigint`
    )

    const balances = yield* guard(
      sql<Balances>`
        SELECT (SELECT least(coalesce(sum(spent_nano), 0), 9007199254740991)::bigint FROM budget_counters WHERE month = ${month}) AS month_nano,
               least(coalesce(sum(amount_nano), 0), 9007199254740991)::bigint AS reserved_nano,
               count(*) AS pending,
               min(created_at_ms) AS oldest_ms
        FROM reservations`
    )

    const byModel = modelSpendOf(yield* report(monthByModel(nowMs)))

    const [counts, sums] = [recent[0], balances[0]]
    if (counts === undefined || sums === undefined) {
      return yield* Effect.die(new Error("an aggregate answered no row, which is impossible"))
    }
    const [p50, p95, p99] = counts.quantiles ?? []
    const overview: LedgerOverview = {
      last5m: counts.last_5m,
      last24h: counts.last_24h,
      failed24h: counts.failed,
      cacheHits24h: counts.cache_hits,
      cacheSaved24hNano: counts.saved_nano,
      latencyMs: p50 === undefined || p95 === undefined || p99 === undefined ? null : { p50, p95, p99 },
      spentTodayNano: counts.today_nano,
      spentMonthNano: sums.month_nano,
      reservedNano: sums.reserved_nano,
      byModel,
      pending: sums.pending,
      oldestPendingMs: sums.oldest_ms === null ? null : Math.max(0, nowMs - sums.oldest_ms),
      flushLagMs: yield* flushLagMs
    }
    return overview
  })
