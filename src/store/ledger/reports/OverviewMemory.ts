/** The figures of the admin overview from the ledger in memory, counted as in Postgres. */
import { type Generation } from "../../../domain/Generation.ts"
import type { LedgerOverview, Quantiles } from "./LedgerReports.ts"
import type { LedgerState } from "../MemoryState.ts"
import { modelSpendOf, monthByModel, periodsOf } from "./Periods.ts"
import { reportOf } from "./ReportMemory.ts"

export const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

/** Interpolates between neighbours like `percentile_cont`. `sorted` is ascending and not empty. */
const quantile = (sorted: ReadonlyArray<number>, fraction: number): number => {
  const position = fraction * (sorted.length - 1)
  const below = sorted[Math.floor(position)] ?? 0
  const above = sorted[Math.ceil(position)] ?? below
  return below + (above - below) * (position - Math.floor(position))
}

/** Null if there are no values. */
export const quantilesOf = (values: ReadonlyArray<number>): Quantiles | null => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted.length === 0
    ? null
    : { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), p99: quantile(sorted, 0.99) }
}

/** Estimated generations have no measured latency. */
export const latencies = (generations: ReadonlyArray<Generation>): Quantiles | null =>
  quantilesOf(generations.filter((one) => one.usageSource !== "estimated").map((one) => one.latencyMs))

export const overviewOf = (state: LedgerState, nowMs: number): LedgerOverview => {
  const { last5mMs, last24hMs, todayMs, month } = periodsOf(nowMs)
  const all = [...state.generations.values()].map((entry) => entry.generation)
  const recent = all.filter((one) => one.createdAtMs > last24hMs)
  const hits = recent.filter((one) => one.cacheHit)
  const pending = [...state.reservations.values()]
  const oldestMs = Math.min(...pending.map((held) => held.createdAtMs))
  const monthly = [...state.counters].filter(([counter]) => counter.endsWith(` ${month}`))

  return {
    last5m: recent.filter((one) => one.createdAtMs > last5mMs).length,
    last24h: recent.length,
    failed24h: recent.filter((one) => one.errorType !== null).length,
    cacheHits24h: hits.length,
    cacheSaved24hNano: sum(hits.map((one) => one.cost.cacheDiscountNano)),
    latencyMs: latencies(recent),
    spentTodayNano: sum(recent.filter((one) => one.createdAtMs >= todayMs).map((one) => one.cost.billedNano)),
    spentMonthNano: sum(monthly.map(([, balance]) => balance.spentNano)),
    reservedNano: sum(pending.map((held) => held.amountNano)),
    byModel: modelSpendOf(reportOf(state.usageDays, monthByModel(nowMs))),
    pending: pending.length,
    oldestPendingMs: pending.length === 0 ? null : Math.max(0, nowMs - oldestMs),
    flushLagMs: 0
  }
}
