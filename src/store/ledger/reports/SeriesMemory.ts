/** The time series of the ledger in memory, counted as in Postgres. */
import { type Generation } from "../../../domain/Generation.ts"
import type { LedgerBucket, SeriesSpan } from "./LedgerReports.ts"
import type { LedgerState } from "../MemoryState.ts"
import { latencies, quantilesOf, sum } from "./OverviewMemory.ts"

const bucketOf = (startMs: number, of: ReadonlyArray<Generation>): LedgerBucket => {
  const hits = of.filter((one) => one.cacheHit)
  const errors: Record<string, number> = {}
  for (const { errorType } of of) if (errorType !== null) errors[errorType] = (errors[errorType] ?? 0) + 1
  return {
    startMs,
    requests: of.length,
    errors,
    cacheHits: hits.length,
    promptTokens: sum(of.map((one) => one.usage.promptTokens)),
    completionTokens: sum(of.map((one) => one.usage.completionTokens)),
    billedNano: sum(of.map((one) => one.cost.billedNano)),
    savedNano: sum(hits.map((one) => one.cost.cacheDiscountNano)),
    latencyMs: latencies(of),
    timeToFirstTokenMs: quantilesOf(of.flatMap((one) => one.timeToFirstTokenMs ?? []))
  }
}

export const seriesOf = (state: LedgerState, { fromMs, toMs, bucketMs }: SeriesSpan): ReadonlyArray<LedgerBucket> => {
  const within = [...state.generations.values()]
    .map((entry) => entry.generation)
    .filter((one) => one.createdAtMs >= fromMs && one.createdAtMs < toMs)
  return [...Map.groupBy(within, (one) => Math.floor(one.createdAtMs / bucketMs) * bucketMs)]
    .sort(([a], [b]) => a - b)
    .map(([startMs, of]) => bucketOf(startMs, of))
}
