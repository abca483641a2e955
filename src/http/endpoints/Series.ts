/** The endpoint of the time series. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { type Timeseries } from "../../api/Series.ts"
import { usdFromNano } from "../../domain/pricing/Money.ts"
import { Series, type SeriesFigures, type SeriesRange } from "../../gateway/admin/Series.ts"
import { guard } from "../errors/ErrorResponse.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "series",
  Effect.fnUntraced(function* (handlers) {
    const series = yield* Series
    return handlers.handle("read", ({ query }) =>
      guard(Effect.map(series.read(query.range), (figures) => wireOf(query.range, figures)))
    )
  })
)

const wireOf = (range: SeriesRange, { bucketMs, buckets, nowMs }: SeriesFigures): Timeseries => ({
  object: "timeseries",
  range,
  generated_at: new Date(nowMs).toISOString(),
  bucket_s: bucketMs / 1000,
  data: buckets.map((bucket) => ({
    start: new Date(bucket.startMs).toISOString(),
    requests: bucket.requests,
    errors: bucket.errors,
    refusals: bucket.refusals,
    cache_hits: bucket.cacheHits,
    prompt_tokens: bucket.promptTokens,
    completion_tokens: bucket.completionTokens,
    spend_usd: usdFromNano(bucket.billedNano),
    saved_usd: usdFromNano(bucket.savedNano),
    latency_ms: bucket.latencyMs,
    time_to_first_token_ms: bucket.timeToFirstTokenMs
  }))
})
