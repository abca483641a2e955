/**
 * Ends the span of a request. Its attributes tell how the request ended, which provider answered,
 * what it cost, and whether the cache or a fallback was used. They are `http.*` and `tollgate.*`
 * only: backends count the tokens of every span that has attributes of `gen_ai.*`.
 */
import { usdFromNano } from "../../domain/pricing/Money.ts"
import { type Generation } from "../../domain/Generation.ts"
import { type EndedRequest } from "../../gateway/telemetry/RequestMetrics.ts"
import { type SpanAttributes } from "../../gateway/telemetry/RequestTrace.ts"
import { type RequestState } from "./CurrentRequest.ts"

export const endTrace = (state: RequestState, ended: EndedRequest): void => {
  const { trace } = state
  const { cache, generation, operation, replayed, tier } = ended.metadata
  if (trace === null) return
  const errorType = state.errorType ?? generation?.errorType ?? (ended.status >= 500 ? "internal_error" : null)
  // A refused request is the client's error. A broken stream has a good status and a failed
  // generation.
  const isOurs = ended.status >= 500 || (ended.status < 400 && errorType !== null)
  trace.end(
    {
      "http.request.method": ended.method,
      "http.route": ended.route,
      "http.response.status_code": ended.status,
      "tollgate.request.id": state.requestId,
      "tollgate.operation": operation,
      "tollgate.tier": tier,
      "tollgate.cache": cache,
      "tollgate.replayed": replayed ? true : null,
      "tollgate.rejected_by": ended.rejection,
      "error.type": errorType,
      ...(generation === null ? {} : generated(generation))
    },
    generation,
    isOurs ? errorType : null
  )
}

const generated = (generation: Generation): SpanAttributes => ({
  "tollgate.generation.id": generation.id,
  "tollgate.key.id": generation.keyId,
  "tollgate.provider": generation.provider === "" ? null : generation.provider,
  "tollgate.model": generation.provider === "" ? null : generation.model,
  "tollgate.tokens.input": generation.usage.promptTokens,
  "tollgate.tokens.output": generation.usage.completionTokens,
  "tollgate.time_to_first_token": generation.timeToFirstTokenMs === null ? null : generation.timeToFirstTokenMs / 1000,
  "tollgate.streamed": generation.streamed,
  "tollgate.cancelled": generation.cancelled,
  "tollgate.fallback": generation.fallbackUsed,
  "tollgate.attempts": generation.attempts.length,
  "tollgate.usage.source": generation.usageSource,
  "tollgate.cost.usd": usdFromNano(generation.cost.billedNano),
  "tollgate.cost.saved.usd": usdFromNano(generation.cost.cacheDiscountNano)
})
