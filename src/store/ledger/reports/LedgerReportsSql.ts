/** The reports of the ledger from Postgres. */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { guard } from "../../sql/SqlErrors.ts"
import { makeCalls } from "./CallsSql.ts"
import type { LedgerReports } from "./LedgerReports.ts"
import { makeOverview } from "./OverviewSql.ts"
import { makeReport } from "./ReportSql.ts"
import { makeSeries } from "./SeriesSql.ts"

/** `lagMs`: the age of the oldest entry of this process that is not written yet. */
export const makeLedgerReports = (sql: PgClient.PgClient, lagMs: Effect.Effect<number>): LedgerReports["Service"] => {
  const report = makeReport(sql)
  return {
    series: makeSeries(sql),

    calls: makeCalls(sql),

    report,

    overview: makeOverview(sql, report, lagMs),

    backlog: Effect.fn("LedgerReports.backlog")(function* (nowMs) {
      const [row] = yield* guard(
        sql<{ readonly pending: number; readonly oldest_ms: number | null }>`
            SELECT count(*) AS pending, min(created_at_ms) AS oldest_ms FROM reservations`
      )
      const oldestPendingMs = Math.max(0, nowMs - (row?.oldest_ms ?? nowMs))
      return { pending: row?.pending ?? 0, oldestPendingMs, flushLagMs: yield* lagMs }
    })
  }
}
