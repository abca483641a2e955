/** `GET /v1/admin/overview`: an operational snapshot without secrets, prompts or hashes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"

const Count = Schema.Int
const Usd = Schema.Finite

export const Overview = Schema.Struct({
  generated_at: Schema.String,
  version: Schema.String,
  uptime_s: Count,
  requests: Schema.Struct({
    last_5m: Count,
    last_24h: Count,
    /** Requests that the gateway refused in the last 24 hours, by error type. Not in `last_24h`. */
    refused_24h: Schema.Record(Schema.String, Count),
    /** Share of the last 24 hours' generations that failed, 0 to 1. */
    error_rate: Schema.Finite,
    /** Responses of this process since its start. */
    by_status: Schema.Record(Schema.String, Count)
  }),
  latency_ms: Schema.Struct({
    p50: Schema.NullOr(Schema.Finite),
    p95: Schema.NullOr(Schema.Finite),
    p99: Schema.NullOr(Schema.Finite),
    gateway_overhead_p99: Schema.NullOr(Schema.Finite)
  }),
  spend_usd: Schema.Struct({
    today: Usd,
    month: Usd,
    reserved: Usd,
    by_model: Schema.Array(Schema.Struct({ model: Schema.String, spend_usd: Usd, requests: Count }))
  }),
  cache: Schema.Struct({ hit_rate: Schema.NullOr(Schema.Finite), entries: Count, saved_usd: Usd }),
  keys: Schema.Struct({
    active: Count,
    disabled: Count,
    expired: Count,
    revoked: Count,
    by_tier: Schema.Struct({ free: Count, pro: Count, enterprise: Count })
  }),
  providers: Schema.Array(
    Schema.Struct({
      slug: Schema.String,
      state: Schema.Literals(["closed", "open", "half_open"]),
      success_rate: Schema.Finite,
      ttft_p50_ms: Schema.NullOr(Schema.Finite),
      open_until: Schema.NullOr(Schema.String)
    })
  ),
  rejections: Schema.Struct({ rate_limit: Count, budget: Count, model: Count, privacy: Count }),
  ledger: Schema.Struct({
    pending: Count,
    oldest_pending_s: Schema.NullOr(Schema.Finite),
    flush_lag_ms: Schema.Finite
  })
}).annotate({ identifier: "AdminOverview" })
export type Overview = typeof Overview.Type

export class AdminGroup extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.get("overview", "/v1/admin/overview", { success: Overview, error: errors(500, 503) }).annotateMerge(
      OpenApi.annotations({ summary: "A safe operational snapshot for the admin console" })
    )
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration" })) {}
