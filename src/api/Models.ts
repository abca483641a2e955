/**
 * `GET /v1/models`: OpenAI's list with the fields of OpenRouter's and Anthropic's, and for each
 * model its providers with their data policies. `GET /v1/models/{id}` is one entry of it.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminAuthorization, Authorization, RequiredScope, SessionAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"

/** USD per token, or per call, as decimal strings. */
const Prices = Schema.Struct({
  prompt: Schema.String,
  completion: Schema.String,
  input_cache_read: Schema.optionalKey(Schema.String),
  input_cache_write: Schema.optionalKey(Schema.String),
  /** Audio in the prompt. */
  audio: Schema.optionalKey(Schema.String),
  /** The fee of a call. */
  request: Schema.optionalKey(Schema.String),
  /** The fee of a search. */
  web_search: Schema.optionalKey(Schema.String)
})

export const TieredPrices = Schema.Struct({
  ...Prices.fields,
  /** Prices of a request whose prompt is longer than `above_prompt_tokens`. */
  tiers: Schema.optionalKey(Schema.Array(Schema.Struct({ above_prompt_tokens: Schema.Int, ...Prices.fields })))
})

export const DataPolicy = Schema.Struct({
  training: Schema.Boolean,
  retains_prompts: Schema.Boolean,
  retention_days: Schema.NullOr(Schema.Int),
  zdr: Schema.Boolean
})

const ProviderEntry = Schema.Struct({
  slug: Schema.String,
  name: Schema.String,
  pricing: TieredPrices,
  context_length: Schema.NullOr(Schema.Int),
  max_completion_tokens: Schema.NullOr(Schema.Int),
  data_policy: DataPolicy,
  tags: Schema.Array(Schema.String),
  /** `down` while the circuit is open. */
  status: Schema.Literals(["ok", "down"]),
  /** Share of recent calls that were answered, 0 to 1. Null without calls. */
  uptime: Schema.NullOr(Schema.Finite),
  latency_ms: Schema.NullOr(Schema.Struct({ p50: Schema.Finite, p99: Schema.Finite })),
  throughput_tps: Schema.NullOr(Schema.Finite)
})

export const ModelEntry = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("model"),
  /** As Anthropic's clients read it. */
  type: Schema.Literal("model"),
  created: Schema.Int,
  created_at: Schema.String.annotate({ format: "date-time" }),
  owned_by: Schema.String,
  name: Schema.String,
  display_name: Schema.String,
  canonical_slug: Schema.String,
  alias_of: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description:
        "The entry is an alias of the operator's. The models that it stands for and that the key may use, the most frequent first; the other members are those of the first."
    })
  ),
  description: Schema.String,
  context_length: Schema.NullOr(Schema.Int),
  architecture: Schema.Struct({
    modality: Schema.String,
    input_modalities: Schema.Array(Schema.String),
    output_modalities: Schema.Array(Schema.String),
    tokenizer: Schema.String,
    instruct_type: Schema.NullOr(Schema.String)
  }),
  pricing: Prices,
  supported_parameters: Schema.Array(Schema.String),
  default_parameters: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
  per_request_limits: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
  /** OpenRouter's clients require this member. */
  supported_voices: Schema.Null,
  links: Schema.Struct({ details: Schema.String }),
  top_provider: Schema.Struct({
    context_length: Schema.NullOr(Schema.Int),
    max_completion_tokens: Schema.NullOr(Schema.Int),
    is_moderated: Schema.Boolean
  }),
  providers: Schema.Array(ProviderEntry)
}).annotate({ identifier: "Model" })

/** All models, and then the operator's aliases, in one page: `links.next` is null. */
export const ModelList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ModelEntry),
  total_count: Schema.Int,
  has_more: Schema.Literal(false),
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String),
  links: Schema.Struct({ next: Schema.Null })
}).annotate({ identifier: "ModelList" })

export class ModelsGroup extends HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/v1/models", { success: ModelList, error: errors(403, 500, 503) }).annotateMerge(
      OpenApi.annotations({ summary: "List the models that the key may use" })
    ),
    HttpApiEndpoint.get("retrieve", "/v1/models/:model", {
      params: { model: Schema.String.annotate({ description: "An id with `%2F`, or another name of a model." }) },
      success: ModelEntry,
      error: errors(403, 404, 500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read one model",
        description:
          "Accepts whatever a request's `model` accepts: an id, a bare slug, a vendor's name or an alias. A slash may be sent as it is or as `%2F`."
      })
    ),
    HttpApiEndpoint.get("retrieveByAuthor", "/v1/models/:author/:slug", {
      params: { author: Schema.String, slug: Schema.String },
      success: ModelEntry,
      error: errors(403, 404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Read one model, with a plain slash in its id" }))
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateEndpoints(RequiredScope, "models:read")
  .annotateMerge(OpenApi.annotations({ title: "Models" })) {}

export class OwnedModelsGroup extends HttpApiGroup.make("ownedModels")
  .add(
    HttpApiEndpoint.get("list", "/v1/portal/models", { success: ModelList, error: errors(500, 503) }).annotateMerge(
      OpenApi.annotations({ summary: "List the models that your keys may use" })
    )
  )
  .middleware(Validation)
  .middleware(SessionAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Portal: models" })) {}

export class AdminModelsGroup extends HttpApiGroup.make("adminModels")
  .add(
    HttpApiEndpoint.get("list", "/v1/admin/models", { success: ModelList, error: errors(500) }).annotateMerge(
      OpenApi.annotations({ summary: "List every model with all its providers" })
    )
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: models" })) {}
