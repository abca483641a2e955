/**
 * `POST /v1/route/preview`: the routing decision for a chat request, without calling a provider.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ChatRequest } from "../domain/Chat.ts"
import { Authorization, RequiredScope } from "./Authorization.ts"
import { BodyBytes, ErrorBody, errors, Validation } from "./Failure.ts"

const Usd = Schema.Finite

export const RouteCandidate = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  /** True if it serves a fallback model. */
  fallback_model: Schema.Boolean,
  /** Cost of a likely answer, without the markup. */
  expected_cost_usd: Usd,
  /** USD per million tokens, for a prompt of this length. */
  price: Schema.Struct({ prompt: Usd, completion: Usd, cached_prompt: Schema.NullOr(Usd) }),
  /** A candidate with an open circuit is skipped. */
  circuit: Schema.Literals(["closed", "open", "half_open"]),
  /** Share of recently measured calls that were answered, 0 to 1. Null without calls. */
  success_rate: Schema.NullOr(Schema.Finite),
  latency_ms: Schema.NullOr(Schema.Struct({ p50: Schema.Finite, p99: Schema.Finite })),
  throughput_tps: Schema.NullOr(Schema.Finite)
}).annotate({ identifier: "RouteCandidate" })

export const RoutePreview = Schema.Struct({
  object: Schema.Literal("route.preview"),
  model: Schema.String,
  sort: Schema.Literals(["price", "throughput", "latency"]),
  prompt_tokens: Schema.Int,
  likely_completion_tokens: Schema.Int,
  /** In the order of the calls. */
  candidates: Schema.Array(RouteCandidate),
  excluded: Schema.Array(
    Schema.Struct({
      slug: Schema.String,
      model: Schema.String,
      reason: Schema.String,
      expected_cost_usd: Schema.NullOr(Usd)
    })
  ),
  /** The error that the request would get if no candidate is left. */
  error: Schema.NullOr(ErrorBody)
}).annotate({ identifier: "RoutePreview" })
export type RoutePreview = typeof RoutePreview.Type

export class RouteGroup extends HttpApiGroup.make("route")
  .add(
    HttpApiEndpoint.post("preview", "/v1/route/preview", {
      payload: ChatRequest,
      success: RoutePreview,
      error: errors(403, 404, 429, 500, 503)
    })
      .annotate(BodyBytes, null)
      .annotate(RequiredScope, "chat:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Preview the route of a chat completion",
          description:
            "Ranks the providers for a chat request like a live call, without calling one. Returns the candidates in order, the excluded ones with the reason, and the expected cost of each. Records no generation and charges no budget. Counts as a request under the key's rate limit."
        })
      )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Routing" })) {}
