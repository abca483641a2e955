/**
 * One line of log for each request, once its answer was sent to the end: what it was, how it ended, who answered, what it cost. Its
 * texts are our own: routes as they are declared, ids, models and providers of the settings; nothing that a client or a
 * provider wrote. Where nobody listens nothing is made.
 */
import { Effect, LogLevel, References } from "effect"
import { usdFromNano } from "../domain/Money.ts"
import { type EndedRequest } from "../gateway/Instruments.ts"
import { type RequestState } from "./CurrentRequest.ts"

export type RequestLog = (state: RequestState, ended: EndedRequest) => Effect.Effect<void>

/** For requests that are asked for again and again by machines. */
const quiet = /^\/(?:health|metrics|console|docs|openapi)/

/** As verbose as the context in which it is made. */
export const make: Effect.Effect<RequestLog> = Effect.map(References.MinimumLogLevel, (minimum) => {
  const heard = (level: LogLevel.LogLevel) => !LogLevel.isGreaterThan(minimum, level)
  return (state, ended) => {
    const level = ended.status >= 500 ? "Warn" : quiet.test(ended.route) ? "Debug" : "Info"
    return heard(level)
      ? Effect.annotateLogs(Effect.logWithLevel(level)("request"), fieldsOf(state, ended))
      : Effect.void
  }
})

/** A provider's word for another reason is its own text. */
const reasons = new Set(["stop", "length", "tool_calls", "function_call", "content_filter", "error"])

const fieldsOf = (
  { errorType, facts, requestId }: RequestState,
  { durationMs, method, rejection, route, status }: EndedRequest
): Readonly<Record<string, unknown>> => {
  const { cache, generation } = facts
  return {
    request_id: requestId,
    method,
    route,
    status,
    latency_ms: Math.round(durationMs * 1000) / 1000,
    ...(errorType === null ? {} : { error_type: errorType }),
    ...(rejection === null ? {} : { rejected_by: rejection }),
    ...(cache === null ? {} : { cache }),
    ...(generation === null
      ? {}
      : {
          generation_id: generation.id,
          key_id: generation.keyId,
          ...(generation.provider === "" ? {} : { provider: generation.provider, model: generation.model }),
          streamed: generation.streamed,
          attempts: generation.attempts.length,
          fallback: generation.fallbackUsed,
          time_to_first_token_ms: generation.timeToFirstTokenMs,
          prompt_tokens: generation.usage.promptTokens,
          completion_tokens: generation.usage.completionTokens,
          cost_usd: usdFromNano(generation.cost.billedNano),
          ...(reasons.has(generation.finishReason ?? "") ? { finish_reason: generation.finishReason } : {}),
          cancelled: generation.cancelled,
          ...(errorType === null && generation.errorType !== null ? { error_type: generation.errorType } : {})
        })
  }
}
