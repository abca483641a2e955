/** Reports of the ledger: settled usage by day, time series, and current figures. */
import { Context, type Effect } from "effect"
import { type NanoUsd } from "../../../domain/pricing/Money.ts"
import { type StoreError } from "../../StoreError.ts"
import type { CallBucket } from "../../../domain/Calls.ts"

/** `fromMs` inclusive, `toMs` exclusive. Buckets begin at multiples of `bucketMs` since 1970. */
export interface SeriesSpan {
  readonly fromMs: number
  readonly toMs: number
  readonly bucketMs: number
}

export interface Quantiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export interface LedgerBucket {
  readonly startMs: number
  readonly requests: number
  /** Failed requests by error type. */
  readonly errors: Readonly<Record<string, number>>
  readonly cacheHits: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly billedNano: NanoUsd
  /** What the cache hits would have cost. */
  readonly savedNano: NanoUsd
  /** Without estimated generations. Null if there are none. */
  readonly latencyMs: Quantiles | null
  readonly timeToFirstTokenMs: Quantiles | null
}

export type ReportGroup = "day" | "model" | "key" | "owner" | "provider"

/** Days since 1970, UTC: `fromDay` inclusive, `toDay` exclusive. */
export interface ReportQuery {
  /** `null`: all keys. */
  readonly keyId: string | null
  /** Only the keys of this user. `null`: all users. */
  readonly ownerId: string | null
  /** Absent: all models. */
  readonly model?: string
  /** Absent: all providers. */
  readonly provider?: string
  readonly fromDay: number
  readonly toDay: number
  /** The groupings. Each sums up the same usage. */
  readonly groupBy: ReadonlyArray<ReportGroup>
  /** The most groups of each grouping. */
  readonly limit: number
}

export interface ReportFigures {
  readonly requests: number
  readonly failed: number
  readonly cacheHits: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly totalNano: NanoUsd
  readonly markupNano: NanoUsd
  readonly billedNano: NanoUsd
  /** What the cache hits would have cost. */
  readonly savedNano: NanoUsd
}

export const noFigures: ReportFigures = {
  requests: 0,
  failed: 0,
  cacheHits: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  totalNano: 0,
  markupNano: 0,
  billedNano: 0,
  savedNano: 0
}

/** `group` is a day (`2026-11-21`), a name, or null for keys without an owner. */
export interface ReportRow extends ReportFigures {
  readonly group: string | null
}

export interface ReportPart {
  /** Days in their order, other groups by descending cost. */
  readonly rows: ReadonlyArray<ReportRow>
  readonly hasMore: boolean
}

export interface Report {
  /** Of all groups, including those beyond the limit. */
  readonly total: ReportFigures
  /** A part for each requested grouping. */
  readonly parts: ReadonlyMap<ReportGroup, ReportPart>
}

export interface ModelSpend {
  readonly model: string
  readonly billedNano: NanoUsd
  readonly requests: number
}

/** Figures for the admin overview, over settled generations. */
export interface LedgerOverview {
  readonly last5m: number
  readonly last24h: number
  /** Settled in the last 24 h with an error type. */
  readonly failed24h: number
  readonly cacheHits24h: number
  readonly cacheSaved24hNano: NanoUsd
  /** Over the last 24 h. Null if there are none. */
  readonly latencyMs: Quantiles | null
  readonly spentTodayNano: NanoUsd
  readonly spentMonthNano: NanoUsd
  readonly reservedNano: NanoUsd
  /** This month, by descending cost, at most 20. */
  readonly byModel: ReadonlyArray<ModelSpend>
  readonly pending: number
  /** The age of the oldest pending reservation. Null if there are none. */
  readonly oldestPendingMs: number | null
  /** The age of the oldest entry of this process that is not written yet. 0 if all are written. */
  readonly flushLagMs: number
}

/**
 * Work that the ledger has not done yet: reservations of all processes to settle, and entries of
 * this one to write.
 */
export interface LedgerBacklog {
  readonly pending: number
  /** The age of the oldest pending reservation. 0 if there are none. */
  readonly oldestPendingMs: number
  readonly flushLagMs: number
}

export class LedgerReports extends Context.Service<
  LedgerReports,
  {
    /** Figures of all keys for each bucket of `bucketMs` that has a generation, oldest first. */
    readonly series: (span: SeriesSpan) => Effect.Effect<ReadonlyArray<LedgerBucket>, StoreError>
    /** The calls of providers in a short span of the last day, by bucket, provider and model. */
    readonly calls: (span: SeriesSpan) => Effect.Effect<ReadonlyArray<CallBucket>, StoreError>
    /** Settled usage, summed up by day. The deletion of generations does not change it. */
    readonly report: (query: ReportQuery) => Effect.Effect<Report, StoreError>
    readonly overview: (nowMs: number) => Effect.Effect<LedgerOverview, StoreError>
    readonly backlog: (nowMs: number) => Effect.Effect<LedgerBacklog, StoreError>
  }
>()("tollgate/store/ledger/reports/LedgerReports") {}
