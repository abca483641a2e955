/** The reports of the ledger in memory. */
import { Effect } from "effect"
import type { LedgerReports } from "./LedgerReports.ts"
import type { LedgerState } from "../MemoryState.ts"
import { callsOf } from "./CallsMemory.ts"
import { overviewOf } from "./OverviewMemory.ts"
import { reportOf } from "./ReportMemory.ts"
import { seriesOf } from "./SeriesMemory.ts"

export const makeLedgerReports = (state: LedgerState): LedgerReports["Service"] => ({
  series: (span) => Effect.sync(() => seriesOf(state, span)),

  calls: (span) => Effect.sync(() => callsOf(state, span)),

  report: (query) => Effect.sync(() => reportOf(state.usageDays, query)),

  overview: (nowMs) => Effect.sync(() => overviewOf(state, nowMs)),

  backlog: (nowMs) =>
    Effect.sync(() => {
      const { flushLagMs, oldestPendingMs, pending } = overviewOf(state, nowMs)
      return { pending, oldestPendingMs: oldestPendingMs ?? 0, flushLagMs }
    })
})
