/**
 * The figures of the operator's overview: ledger, keys, providers, and the traffic of this process.
 * No secret, no prompt.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { DependencyUnavailable, gatewayError, type GatewayError } from "../../domain/Errors.ts"
import { DAY_MS } from "../../domain/pricing/Money.ts"
import { type KeyCounts, KeyRepo } from "../../store/keys/KeyRepo.ts"
import { type LedgerOverview, LedgerReports } from "../../store/ledger/reports/LedgerReports.ts"
import { RefusalStore } from "../../store/refusals/RefusalStore.ts"
import { Cache } from "../cache/Cache.ts"
import { Health, type ProviderHealth } from "./Health.ts"
import { ProviderStats } from "../health/ProviderStats.ts"
import { type StatsSnapshot } from "../health/StatsTable.ts"
import { RequestCounters, type RequestCounts } from "../telemetry/RequestCounters.ts"

export interface OverviewFigures {
  readonly uptimeSeconds: number
  readonly ledger: LedgerOverview
  readonly keys: KeyCounts
  readonly cacheEntries: number
  readonly providers: ReadonlyArray<ProviderHealth & { readonly stats: StatsSnapshot }>
  readonly traffic: RequestCounts
  /** Requests refused in the last 24 hours, by error type. */
  readonly refusals: Readonly<Record<string, number>>
}

/** Longer than any span: a bucket for all. */
const WHOLE_MS = 1e15

export class Overview extends Context.Service<
  Overview,
  { readonly read: Effect.Effect<OverviewFigures, GatewayError> }
>()("tollgate/gateway/admin/Overview") {
  static readonly layer = Layer.effect(
    Overview,
    Effect.gen(function* () {
      const reports = yield* LedgerReports
      const keys = yield* KeyRepo
      const cache = yield* Cache
      const health = yield* Health
      const stats = yield* ProviderStats
      const requestCounters = yield* RequestCounters
      const store = yield* RefusalStore
      const read = Effect.gen(function* () {
        const nowMs = yield* Clock.currentTimeMillis
        const day = { fromMs: nowMs - DAY_MS, toMs: nowMs + 1, bucketMs: WHOLE_MS }
        const [figures, counts, refused] = yield* Effect.all(
          [reports.overview(nowMs), keys.counts(nowMs), store.series(day)],
          { concurrency: 3 }
        )
        const providers = yield* health.providers
        return {
          uptimeSeconds: yield* health.uptimeSeconds,
          ledger: figures,
          keys: counts,
          cacheEntries: yield* cache.size,
          providers: providers.map((provider) => ({ ...provider, stats: stats.snapshot(provider.slug) })),
          traffic: yield* requestCounters.snapshot,
          refusals: Object.fromEntries(refused.map(({ count, type }) => [type, count]))
        } satisfies OverviewFigures
      }).pipe(Effect.mapError((error) => gatewayError(new DependencyUnavailable({ dependency: error.dependency }))))
      return Overview.of({ read })
    })
  )
}
