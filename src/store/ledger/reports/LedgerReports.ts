/** What the ledger's entries come to: by day as they were settled, in stretches of time, and as they are at the moment. */
import { Context, type Effect } from "effect"
import { type NanoUsd } from "../../../domain/Money.ts"
import { type StoreError } from "../../StoreError.ts"

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
  /** How many failed, by error type. */
  readonly errors: Readonly<Record<string, number>>
  readonly cacheHits: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly billedNano: NanoUsd
  /** What cache hits would have cost. */
  readonly savedNano: NanoUsd
  /** Without those settled by recovery; null when there is none. */
  readonly latencyMs: Quantiles | null
  readonly timeToFirstTokenMs: Quantiles | null
}

export type ReportGroup = "day" | "model" | "key" | "owner" | "provider"

/** Days since 1970, UTC: `fromDay` inclusive, `toDay` exclusive. */
export interface ReportQuery {
  /** `null`: every key's. */
  readonly keyId: string | null
  /** Only what this user's keys used; `null`: whosever they are. */
  readonly ownerId: string | null
  readonly fromDay: number
  readonly toDay: number
  /** The ways in which the same figures are summed up. */
  readonly groupBy: ReadonlyArray<ReportGroup>
  /** How many groups of each kind at most. */
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
  /** What cache hits would have cost. */
  readonly savedNano: NanoUsd
}

/** `group`: a day (`2026-11-21`), a name, or null for keys without an owner. */
export interface ReportRow extends ReportFigures {
  readonly group: string | null
}

export interface ReportPart {
  /** Days in their order, anything else dearest first. */
  readonly rows: ReadonlyArray<ReportRow>
  readonly hasMore: boolean
}

export interface Report {
  /** Of all groups, also of those beyond the limit. */
  readonly total: ReportFigures
  /** A part for each way of grouping that was asked for. */
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
  /** Over the last 24 h; null when there is none. */
  readonly latencyMs: Quantiles | null
  readonly spentTodayNano: NanoUsd
  readonly spentMonthNano: NanoUsd
  readonly reservedNano: NanoUsd
  /** This month, dearest first, at most 20. */
  readonly byModel: ReadonlyArray<ModelSpend>
  readonly pending: number
  /** How long ago the oldest pending reservation was made; null when there is none. */
  readonly oldestPendingMs: number | null
  /** For how long the oldest entry of this process waits that is not written yet; 0 when none does. */
  readonly flushLagMs: number
}

/** What the ledger has still to settle, over all processes, and to write, of this one. */
export interface LedgerBacklog {
  readonly pending: number
  /** How long ago the oldest pending reservation was made; 0 when there is none. */
  readonly oldestPendingMs: number
  readonly flushLagMs: number
}

export class LedgerReports extends Context.Service<
  LedgerReports,
  {
    /** What happened in each stretch of `bucketMs` that has a generation, oldest first, over all keys. */
    readonly series: (span: SeriesSpan) => Effect.Effect<ReadonlyArray<LedgerBucket>, StoreError>
    /** What was settled, summed up by day as it was settled: deleting generations changes nothing of it. */
    readonly report: (query: ReportQuery) => Effect.Effect<Report, StoreError>
    readonly overview: (nowMs: number) => Effect.Effect<LedgerOverview, StoreError>
    readonly backlog: (nowMs: number) => Effect.Effect<LedgerBacklog, StoreError>
  }
>()("tollgate/store/ledger/reports/LedgerReports") {}
