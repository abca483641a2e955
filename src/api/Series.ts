/**
 * `GET /v1/admin/timeseries`: the generations and refusals of the last hour by minute, or of the
 * last day by hour.
 */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"

/** In milliseconds. Null if no generation of the bucket has a value. */
const Quantiles = Schema.NullOr(Schema.Struct({ p50: Schema.Finite, p95: Schema.Finite, p99: Schema.Finite }))

export const SeriesBucket = Schema.Struct({
  /** The first instant of the bucket. */
  start: Schema.String.annotate({ format: "date-time" }),
  requests: Schema.Int,
  /** Number of failures by error type. */
  errors: Schema.Record(Schema.String, Schema.Int),
  refusals: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "Number of refused requests by error type. They are not among `requests`."
  }),
  cache_hits: Schema.Int,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  spend_usd: Schema.Finite,
  saved_usd: Schema.Finite,
  latency_ms: Quantiles,
  time_to_first_token_ms: Quantiles
})

export const Timeseries = Schema.Struct({
  object: Schema.Literal("timeseries"),
  range: Schema.Literals(["hour", "day"]),
  generated_at: Schema.String.annotate({ format: "date-time" }),
  bucket_s: Schema.Int,
  /** Oldest first, without gaps. The last bucket is still running. */
  data: Schema.Array(SeriesBucket)
}).annotate({ identifier: "Timeseries" })
export type Timeseries = typeof Timeseries.Type

export class SeriesGroup extends HttpApiGroup.make("series")
  .add(
    HttpApiEndpoint.get("read", "/v1/admin/timeseries", {
      query: {
        range: Schema.Literals(["hour", "day"]).pipe(Schema.withDecodingDefaultKey(Effect.succeed("hour" as const)))
      },
      success: Timeseries,
      error: errors(500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Requests, errors, latencies and spending of the last hour by minute, or of the last day by hour"
      })
    )
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: time series" })) {}
