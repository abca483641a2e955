/** The admin's endpoints of providers. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import { type OutageRecord, type ProviderDetails, type ProviderRecord } from "../../../api/Providers.ts"
import { gatewayError, NotFound } from "../../../domain/Errors.ts"
import { type Outage, type OutageCause } from "../../../domain/Outage.ts"
import {
  type CallSums,
  type CircuitReport,
  type ModelReport,
  type ProviderReport,
  ProviderReports
} from "../../../gateway/admin/ProviderReports.ts"
import { type CircuitState } from "../../../gateway/health/CircuitState.ts"
import { guard } from "../../errors/ErrorResponse.ts"
import { policyOf, tieredPrices } from "../ModelFacts.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "adminProviders",
  Effect.fnUntraced(function* (handlers) {
    const reports = yield* ProviderReports
    return handlers.handleAll({
      list: () =>
        guard(
          Effect.gen(function* () {
            const nowMs = yield* Clock.currentTimeMillis
            const found = yield* reports.list
            return { object: "list" as const, data: found.map((report) => recordOf(report, nowMs)) }
          })
        ),
      get: ({ params }) =>
        guard(
          Effect.gen(function* () {
            const nowMs = yield* Clock.currentTimeMillis
            const report = (yield* reports.list).find(({ config }) => config.slug === params.slug)
            if (report === undefined) return yield* gatewayError(new NotFound({ what: "provider", id: params.slug }))
            const outages = yield* reports.outages(params.slug)
            return { ...recordOf(report, nowMs), outages: outages.map(outageOf) } satisfies ProviderDetails
          })
        )
    })
  })
)

const iso = (ms: number): string => new Date(ms).toISOString()
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms))

const recordOf = (report: ProviderReport, nowMs: number): ProviderRecord => {
  const { calls, config, health, hours, models } = report
  return {
    slug: config.slug,
    name: config.name,
    dialect: config.dialect,
    address: URL.canParse(config.baseUrl) ? new URL(config.baseUrl).host : null,
    status: health.status,
    ...circuitOf({ ...health, state: health.circuit }, report, nowMs),
    ...sumsOf(calls),
    hours: hours.map(({ startMs, ...hour }) => ({ start: iso(startMs), ...hour, uptime: uptimeOf(hour) })),
    data_policy: policyOf(config),
    models: models.map((model) => modelOf(model, nowMs))
  }
}

const modelOf = (report: ModelReport, nowMs: number): ProviderRecord["models"][number] => {
  const { calls, health, offer } = report
  return {
    id: offer.id,
    upstream: offer.upstream,
    embeddings: offer.embeddings,
    context_length: offer.contextLength,
    max_completion_tokens: offer.maxCompletionTokens,
    pricing: tieredPrices(offer.pricing),
    ...circuitOf(health, report, nowMs),
    ...sumsOf(calls),
    latency_ms: calls.wholeMs,
    time_to_first_token_ms: calls.firstTokenMs
  }
}

const circuitOf = (
  { openForMs, sinceMs, state }: CircuitState,
  { openings, outage, sinceMs: recordedMs }: CircuitReport,
  nowMs: number
) => ({
  state,
  since: isoOrNull(recordedMs ?? sinceMs),
  why: state === "closed" || outage?.closedAtMs !== null ? null : causeOf(outage.cause),
  opened_24h: openings,
  retry_at: openForMs === null ? null : iso(nowMs + openForMs)
})

const causeOf = (cause: OutageCause | null) =>
  cause === null ? null : { type: cause.errorType, status: cause.httpStatus, message: cause.message }

const uptimeOf = ({ calls, failed }: { readonly calls: number; readonly failed: number }): number | null =>
  calls === 0 ? null : 1 - failed / calls

const sumsOf = (sums: CallSums) => ({
  calls: sums.calls,
  failed: sums.failed,
  uptime: uptimeOf(sums),
  errors: sums.failures.map(({ count, errorType, httpStatus }) => ({ type: errorType, status: httpStatus, count })),
  last_failure:
    sums.lastFailure === null
      ? null
      : {
          type: sums.lastFailure.errorType,
          status: sums.lastFailure.httpStatus,
          message: sums.lastFailure.message,
          at: iso(sums.lastFailure.atMs)
        }
})

const outageOf = ({ cause, closedAtMs, closedBy, id, model, openedAtMs, openings, process }: Outage): OutageRecord => ({
  id,
  model,
  opened_at: iso(openedAtMs),
  closed_at: isoOrNull(closedAtMs),
  closed_by: closedBy,
  openings,
  why: causeOf(cause),
  process
})
