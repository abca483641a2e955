/**
 * Recent activity in equal buckets of time: the last hour by minute, or the last day by hour. Empty
 * buckets are included with zeros, and the last one is still in progress. The result is cached, so
 * the ledger is read at most once in two seconds for the hour and once in twenty for the day,
 * whatever the number of readers.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { DependencyUnavailable, gatewayError, type GatewayError } from "../../domain/Errors.ts"
import { RefusalStore } from "../../store/refusals/RefusalStore.ts"
import { type LedgerBucket, LedgerReports } from "../../store/ledger/reports/LedgerReports.ts"

export type SeriesRange = "hour" | "day"

export interface SeriesBucket extends LedgerBucket {
  /** The number of refused requests by error type. */
  readonly refusals: Readonly<Record<string, number>>
}

export interface SeriesFigures {
  readonly nowMs: number
  readonly bucketMs: number
  /** Oldest first, without gaps. */
  readonly buckets: ReadonlyArray<SeriesBucket>
}

const ranges = {
  hour: { bucketMs: 60_000, count: 60, ttl: Duration.seconds(2) },
  day: { bucketMs: 3_600_000, count: 24, ttl: Duration.seconds(20) }
} as const satisfies Record<SeriesRange, unknown>

export class Series extends Context.Service<
  Series,
  { readonly read: (range: SeriesRange) => Effect.Effect<SeriesFigures, GatewayError> }
>()("tollgate/gateway/admin/Series") {
  static readonly layer = Layer.effect(
    Series,
    Effect.gen(function* () {
      const reports = yield* LedgerReports
      const store = yield* RefusalStore

      const readNow = Effect.fnUntraced(function* (range: SeriesRange) {
        const { bucketMs, count } = ranges[range]
        const nowMs = yield* Clock.currentTimeMillis
        const lastMs = Math.floor(nowMs / bucketMs) * bucketMs
        const fromMs = lastMs - (count - 1) * bucketMs
        const span = { fromMs, toMs: lastMs + bucketMs, bucketMs }
        const [found, refused] = yield* Effect.all([reports.series(span), store.series(span)], { concurrency: 2 })
        const byStart = new Map(found.map((bucket) => [bucket.startMs, bucket]))
        const refusals = Map.groupBy(refused, (one) => one.startMs)
        const buckets = Array.from({ length: count }, (_, index) => {
          const startMs = fromMs + index * bucketMs
          const byType = (refusals.get(startMs) ?? []).map(({ count, type }) => [type, count])
          return { ...(byStart.get(startMs) ?? emptyBucket(startMs)), refusals: Object.fromEntries(byType) }
        })
        return { nowMs, bucketMs, buckets } satisfies SeriesFigures
      })

      const cached = {
        hour: yield* Effect.cachedWithTTL(readNow("hour"), ranges.hour.ttl),
        day: yield* Effect.cachedWithTTL(readNow("day"), ranges.day.ttl)
      }
      return Series.of({
        read: (range) =>
          Effect.mapError(cached[range], (error) =>
            gatewayError(new DependencyUnavailable({ dependency: error.dependency }))
          )
      })
    })
  )
}

const emptyBucket = (startMs: number): LedgerBucket => ({
  startMs,
  requests: 0,
  errors: {},
  cacheHits: 0,
  promptTokens: 0,
  completionTokens: 0,
  billedNano: 0,
  savedNano: 0,
  latencyMs: null,
  timeToFirstTokenMs: null
})
