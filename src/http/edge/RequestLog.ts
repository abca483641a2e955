/**
 * One log line per request, after its response was sent: what was asked, how it ended, which
 * provider answered, what it cost. All texts are our own: declared routes, ids, models and
 * providers of the settings. Nothing that a client wrote is logged; of a failed attempt, what the
 * provider said, without secrets. The line is not built when its level is off.
 */
import { Effect, LogLevel, References } from "effect"
import { type Generation, knownFinishReason } from "../../domain/Generation.ts"
import { usdFromNano } from "../../domain/pricing/Money.ts"
import { type EndedRequest } from "../../gateway/telemetry/RequestMetrics.ts"
import { type RequestState } from "./CurrentRequest.ts"

export type RequestLog = (state: RequestState, ended: EndedRequest, traceId: string | null) => Effect.Effect<void>

/** Routes that machines poll. */
const quiet = /^\/(?:health|metrics|console|docs|openapi)/

/** Routes that take the admin key. */
const administration = /^\/v1\/(?:admin|keys)\b/

/** Logs at the level of the context in which it is made. */
export const make: Effect.Effect<RequestLog> = Effect.map(References.MinimumLogLevel, (minimum) => {
  const heard = (level: LogLevel.LogLevel) => !LogLevel.isGreaterThan(minimum, level)
  return (state, ended, traceId) => {
    const isNoAdmin = state.address !== null && ended.status === 401 && administration.test(ended.route)
    const level = ended.status >= 500 || isNoAdmin ? "Warn" : quiet.test(ended.route) ? "Debug" : "Info"
    return heard(level)
      ? Effect.annotateLogs(Effect.logWithLevel(level)("request"), fieldsOf(state, ended, traceId))
      : Effect.void
  }
})

const fieldsOf = (
  { address, errorType, requestId }: RequestState,
  { durationMs, metadata, method, rejection, route, status }: EndedRequest,
  traceId: string | null
): Readonly<Record<string, unknown>> => {
  const { cache, generation, replayed, tier } = metadata
  const finishReason = generation === null ? null : knownFinishReason(generation)
  return {
    request_id: requestId,
    ...(traceId === null ? {} : { trace_id: traceId }),
    method,
    route,
    status,
    ...(address === null ? {} : { address }),
    latency_ms: Math.round(durationMs * 1000) / 1000,
    ...(errorType === null ? {} : { error_type: errorType }),
    ...(rejection === null ? {} : { rejected_by: rejection }),
    ...(cache === null ? {} : { cache }),
    ...(replayed ? { replayed } : {}),
    ...(generation === null
      ? {}
      : {
          generation_id: generation.id,
          key_id: generation.keyId,
          tier,
          ...(generation.provider === "" ? {} : { provider: generation.provider, model: generation.model }),
          streamed: generation.streamed,
          attempts: generation.attempts.length,
          ...failuresOf(generation),
          fallback: generation.fallbackUsed,
          time_to_first_token_ms: generation.timeToFirstTokenMs,
          prompt_tokens: generation.usage.promptTokens,
          completion_tokens: generation.usage.completionTokens,
          cost_usd: usdFromNano(generation.cost.billedNano),
          ...(finishReason === null ? {} : { finish_reason: finishReason }),
          cancelled: generation.cancelled,
          ...(errorType === null && generation.errorType !== null ? { error_type: generation.errorType } : {})
        })
  }
}

/** Why attempts failed. */
const failuresOf = ({ attempts }: Generation): Readonly<Record<string, unknown>> => {
  const failed = attempts.filter(({ errorType }) => errorType !== null)
  if (failed.length === 0) return {}
  return {
    failed_attempts: failed.map(({ errorType, httpStatus, message, model, provider }) => ({
      provider,
      model,
      error_type: errorType,
      ...(httpStatus === null ? {} : { http_status: httpStatus }),
      ...(message === undefined ? {} : { message })
    }))
  }
}
