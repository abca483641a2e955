/**
 * The endpoint of the admin overview: figures of the ledger, the keys, the providers and this
 * process.
 */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import { version } from "../../../api/Version.ts"
import { type Overview as Wire } from "../../../api/Admin.ts"
import { usdFromNano } from "../../../domain/pricing/Money.ts"
import { Overview } from "../../../gateway/admin/Overview.ts"
import { guard } from "../../errors/ErrorResponse.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fnUntraced(function* (handlers) {
    const overview = yield* Overview
    return handlers.handle("overview", () =>
      guard(
        Effect.gen(function* () {
          const nowMs = yield* Clock.currentTimeMillis
          const { cacheEntries, keys, ledger, providers, refusals, traffic, uptimeSeconds } = yield* overview.read
          return {
            generated_at: new Date(nowMs).toISOString(),
            version,
            uptime_s: uptimeSeconds,
            requests: {
              last_5m: ledger.last5m,
              last_24h: ledger.last24h,
              refused_24h: refusals,
              error_rate: ledger.last24h === 0 ? 0 : ledger.failed24h / ledger.last24h,
              by_status: traffic.byStatus
            },
            latency_ms: {
              p50: ledger.latencyMs?.p50 ?? null,
              p95: ledger.latencyMs?.p95 ?? null,
              p99: ledger.latencyMs?.p99 ?? null,
              gateway_overhead_p99: traffic.overheadP99Ms
            },
            spend_usd: {
              today: usdFromNano(ledger.spentTodayNano),
              month: usdFromNano(ledger.spentMonthNano),
              reserved: usdFromNano(ledger.reservedNano),
              by_model: ledger.byModel.map(({ billedNano, model, requests }) => ({
                model,
                spend_usd: usdFromNano(billedNano),
                requests
              }))
            },
            cache: {
              hit_rate: ledger.last24h === 0 ? null : ledger.cacheHits24h / ledger.last24h,
              entries: cacheEntries,
              saved_usd: usdFromNano(ledger.cacheSaved24hNano)
            },
            keys: { ...keys.byStatus, by_tier: keys.byTier },
            providers: providers.map(({ circuit, openForMs, slug, stats }) => ({
              slug,
              state: circuit,
              success_rate: stats.successRate,
              ttft_p50_ms: stats.firstTokenMs?.p50 ?? null,
              open_until: openForMs === null ? null : new Date(nowMs + openForMs).toISOString()
            })),
            rejections: traffic.rejections,
            ledger: {
              pending: ledger.pending,
              oldest_pending_s: ledger.oldestPendingMs === null ? null : ledger.oldestPendingMs / 1000,
              flush_lag_ms: ledger.flushLagMs
            }
          } satisfies Wire
        })
      )
    )
  })
)
