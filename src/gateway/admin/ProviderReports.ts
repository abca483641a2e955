/**
 * How each provider and its models do: the circuits as this process sees them, the history of
 * circuits, and the calls of the last day from the ledger. So it is true after a restart too. For
 * operators: it holds the providers' own words.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { DAY_MS } from "../../domain/pricing/Money.ts"
import { type Outage } from "../../domain/Outage.ts"
import { Providers } from "../../providers/Providers.ts"
import { type CallBucket, type Failures, type LastFailure, quantileOf } from "../../domain/Calls.ts"
import { LedgerReports } from "../../store/ledger/reports/LedgerReports.ts"
import { OutageStore } from "../../store/outages/OutageStore.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { Health, type ModelHealth, type ProviderHealth } from "./Health.ts"
import { firstHourMs, HOUR_MS, HOURS, makeRecentCalls } from "./RecentCalls.ts"

export interface Times {
  readonly p50: number
  readonly p95: number
}

export interface CallSums {
  readonly calls: number
  readonly failed: number
  /** Most frequent first. */
  readonly failures: ReadonlyArray<Failures>
  readonly lastFailure: LastFailure | null
  readonly wholeMs: Times | null
  readonly firstTokenMs: Times | null
}

/** How a circuit does. */
export interface CircuitReport {
  /** Since when it is in its state, by the history. Null: it has none. */
  readonly sinceMs: number | null
  /** The newest outage. */
  readonly outage: Outage | null
  /** How often it opened in the last 24 hours. */
  readonly openings: number
}

export interface ModelReport extends CircuitReport {
  readonly offer: ModelOffer
  readonly health: ModelHealth
  readonly calls: CallSums
}

export interface ProviderReport extends CircuitReport {
  readonly config: ProviderConfig
  readonly health: ProviderHealth
  readonly calls: CallSums
  /** Oldest first, without gaps. The last one is still running. */
  readonly hours: ReadonlyArray<{ readonly startMs: number; readonly calls: number; readonly failed: number }>
  readonly models: ReadonlyArray<ModelReport>
}

/** The most outages of a provider that are shown. */
const MOST_OUTAGES = 200

export class ProviderReports extends Context.Service<
  ProviderReports,
  {
    /** In the order of the settings. */
    readonly list: Effect.Effect<ReadonlyArray<ProviderReport>, GatewayError>
    /** Its newest outages, newest first. */
    readonly outages: (slug: string) => Effect.Effect<ReadonlyArray<Outage>, GatewayError>
  }
>()("tollgate/gateway/admin/ProviderReports") {
  static readonly layer = Layer.effect(
    ProviderReports,
    Effect.gen(function* () {
      const { all } = yield* Providers
      const health = yield* Health
      const store = yield* OutageStore
      const recentCalls = yield* makeRecentCalls(yield* LedgerReports)

      const list = Effect.gen(function* () {
        const nowMs = yield* Clock.currentTimeMillis
        const [calls, latest, states] = yield* Effect.all(
          [recentCalls, store.latest(nowMs - DAY_MS), health.providers],
          { concurrency: 2 }
        )
        return all.flatMap(({ config }, at): ReadonlyArray<ProviderReport> => {
          const state = states[at]
          if (state === undefined) return []
          const ofProvider = calls.filter(({ provider }) => provider === config.slug)
          const outages = latest.filter(({ outage }) => outage.provider === config.slug)
          const models = config.models.flatMap((offer, index): ReadonlyArray<ModelReport> => {
            const one = state.models[index]
            if (one === undefined) return []
            const own = outages.filter(({ outage }) => outage.model === null || outage.model === offer.id)
            return [
              {
                offer,
                health: one,
                calls: sumsOf(ofProvider.filter(({ model }) => model === offer.id)),
                ...circuitReport(own, one.state !== "closed")
              }
            ]
          })
          return [
            {
              config,
              health: state,
              calls: sumsOf(ofProvider),
              hours: hoursOf(ofProvider, nowMs),
              models,
              ...circuitReport(outages, state.circuit !== "closed")
            }
          ]
        })
      })

      return ProviderReports.of({
        list: orUnavailable(list),
        outages: (slug) => orUnavailable(store.list(slug, MOST_OUTAGES))
      })
    })
  )
}

type Latest = ReadonlyArray<{ readonly outage: Outage; readonly openings: number }>

const circuitReport = (latest: Latest, isOpen: boolean): CircuitReport => {
  const openings = latest.reduce((sum, one) => sum + one.openings, 0)
  const [newest] = latest.map(({ outage }) => outage).sort((a, b) => (a.id < b.id ? 1 : -1))
  const lasting = latest.map(({ outage }) => outage).filter(({ closedAtMs }) => closedAtMs === null)
  const ended = latest.map(({ outage }) => outage.closedAtMs ?? 0)
  const sinceMs = isOpen
    ? Math.min(...lasting.map(({ openedAtMs }) => openedAtMs))
    : lasting.length > 0
      ? Infinity
      : Math.max(...ended)
  return { openings, outage: newest ?? null, sinceMs: Number.isFinite(sinceMs) ? sinceMs : null }
}

const sumsOf = (buckets: ReadonlyArray<CallBucket>): CallSums => {
  const answered = buckets.reduce((sum, bucket) => sum + bucket.answered, 0)
  const failures = [
    ...Map.groupBy(
      buckets.flatMap((bucket) => bucket.failures),
      ({ errorType, httpStatus }) => `${errorType} ${httpStatus}`
    ).values()
  ]
    .flatMap(([first, ...more]) =>
      first === undefined ? [] : [{ ...first, count: more.reduce((sum, { count }) => sum + count, first.count) }]
    )
    .sort((a, b) => b.count - a.count)
  const failed = failures.reduce((sum, { count }) => sum + count, 0)
  const [lastFailure] = buckets.flatMap((bucket) => bucket.lastFailure ?? []).sort((a, b) => b.atMs - a.atMs)
  return {
    calls: answered + failed,
    failed,
    failures,
    lastFailure: lastFailure ?? null,
    wholeMs: timesOf(buckets.map((bucket) => bucket.wholeMs)),
    firstTokenMs: timesOf(buckets.map((bucket) => bucket.firstTokenMs))
  }
}

const timesOf = (counts: Parameters<typeof quantileOf>[0]): Times | null => {
  const [p50, p95] = [quantileOf(counts, 0.5), quantileOf(counts, 0.95)]
  return p50 === null || p95 === null ? null : { p50, p95 }
}

const hoursOf = (buckets: ReadonlyArray<CallBucket>, nowMs: number): ProviderReport["hours"] => {
  const byHour = Map.groupBy(buckets, ({ startMs }) => Math.floor(startMs / HOUR_MS) * HOUR_MS)
  const firstMs = firstHourMs(nowMs)
  return Array.from({ length: HOURS }, (_, at) => {
    const startMs = firstMs + at * HOUR_MS
    const of = byHour.get(startMs) ?? []
    const failed = of.flatMap(({ failures }) => failures).reduce((sum, { count }) => sum + count, 0)
    return { startMs, failed, calls: failed + of.reduce((sum, { answered }) => sum + answered, 0) }
  })
}
