/**
 * Reads generations: a key its own, a user those of the user's keys, an admin all. A record
 * includes the receipt: attempts, prices, reservation.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { UsageInfo } from "../domain/Chat.ts"
import { generationErrors, stickyStates } from "../domain/Generation.ts"
import { rareClasses } from "../domain/pricing/UsageClass.ts"
import { AdminAuthorization, Authorization, RequiredScope, SessionAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { Moment } from "./schemas/Moments.ts"
import { cursor, limit } from "./schemas/Paging.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"
import { text } from "./schemas/Texts.ts"

const Usd = Schema.Finite

export const GenerationCost = Schema.Struct({
  prompt_cost_usd: Usd,
  completion_cost_usd: Usd,
  cache_discount_usd: Usd,
  /** Fees per call, of the vendor's tools or of the model. Absent: none. */
  fees_usd: Schema.optionalKey(Usd),
  total_cost_usd: Usd,
  markup_usd: Usd,
  billed_usd: Usd
}).annotate({ identifier: "GenerationCost" })

/**
 * One line of the bill: the tokens or calls of one class at one price. The lines add up to
 * `total_cost_usd`.
 */
const Line = Schema.Struct({
  class: Schema.Literals(["prompt", "cached_prompt", "completion", ...rareClasses]),
  quantity: Schema.Int.annotate({ description: "Tokens, or calls for the classes `request` and `web_search`." }),
  price: Usd.annotate({ description: "USD per million tokens, or per thousand calls." }),
  cost_usd: Usd,
  assumed: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description: "The model has no price for this class. It was charged at the dearest price known."
    })
  )
})

const attempt = {
  provider: Schema.String,
  model: Schema.String,
  /**
   * The position of the key among the provider's keys, from 1. Absent if it has one key or none.
   */
  key: Schema.optionalKey(Schema.Int),
  status: Schema.Literals(["ok", "error", "timeout", "cancelled", "skipped"]),
  latency_ms: Schema.Finite,
  error_type: Schema.NullOr(Schema.String),
  http_status: Schema.NullOr(Schema.Int),
  /**
   * Charge of an attempt that was not the final one. It is included in the record's usage and cost,
   * and excludes the markup.
   */
  charged: Schema.optionalKey(
    Schema.Struct({ prompt_tokens: Schema.Int, completion_tokens: Schema.Int, total_cost_usd: Usd })
  ),
  started_ms: Schema.NullOr(Schema.Finite).annotate({
    description: "From the beginning of the request. Null: recorded by an earlier version."
  }),
  ended_ms: Schema.NullOr(Schema.Finite).annotate({ description: "The end of the call, of a stream its end." }),
  wait_ms: Schema.Finite.annotate({ description: "How long the gateway waited since the attempt before." }),
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  cost_usd: Usd.annotate({
    description: "Without the markup. The attempts add up to `total_cost_usd`, except for an estimate."
  })
}
const Attempt = Schema.Struct(attempt)
/** With the provider's own words, which are for operators. */
const AdminAttempt = Schema.Struct({
  ...attempt,
  message: Schema.NullOr(Schema.String).annotate({
    description: "What the provider said about its failure, without secrets, at most 300 characters."
  })
})

export const GenerationRecord = Schema.Struct({
  id: Schema.String,
  model: Schema.String,
  provider: Schema.String,
  /**
   * The name that the client used, where that is not the id of the model: an alias or a snapshot.
   */
  requested_model: Schema.optionalKey(Schema.String),
  request_id: Schema.NullOr(Schema.String).annotate({
    description: "`X-Request-Id`. Null: recorded by an earlier version."
  }),
  endpoint: Schema.NullOr(Schema.String).annotate({ description: "Method and path." }),
  status: Schema.NullOr(Schema.Int).annotate({
    description:
      "The status that was sent. 499: the client left before. A stream that failed before its first token has the status of its error."
  }),
  created_at: Schema.String.annotate({ format: "date-time" }),
  usage: UsageInfo,
  cost: GenerationCost,
  latency_ms: Schema.Finite,
  fallback_used: Schema.Boolean,
  cache_hit: Schema.Boolean,
  attempts: Schema.Array(Attempt),
  excluded: Schema.Array(Schema.Struct({ slug: Schema.String, model: Schema.String, reason: Schema.String })),
  finish_reason: Schema.NullOr(Schema.String),
  error_type: Schema.NullOr(Schema.String),
  streamed: Schema.Boolean,
  cancelled: Schema.Boolean,
  time_to_first_token_ms: Schema.NullOr(Schema.Finite),
  usage_source: Schema.Literals(["provider", "counted", "estimated", "cache"]),
  /** USD per million tokens. */
  price: Schema.Struct({ prompt: Usd, completion: Usd, cached_prompt: Schema.NullOr(Usd) }),
  lines: Schema.Array(Line),
  service_tier: Schema.NullOr(Schema.String).annotate({
    description: "The provider's service tier that was billed. Null: its standard tier."
  }),
  reservation: Schema.Struct({ reserved_usd: Usd, extended_usd: Usd, settled_usd: Usd }),
  /**
   * Whether the conversation stayed with the provider's key that warmed its prompt cache. Absent if
   * the request had one place to go to, or was not answered by a provider.
   */
  sticky: Schema.optionalKey(Schema.Literals(stickyStates)),
  dropped: Schema.Array(Schema.String).annotate({
    description: "The members of the request that the provider did not get, as in `X-Tollgate-Dropped`."
  }),
  parameters: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])).annotate({
    description: "Numbers, switches and words of the request; of lists their lengths. No texts."
  }),
  masked: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "Numbers of values that the privacy guard masked, by type."
  })
}).annotate({ identifier: "GenerationRecord" })
export type GenerationRecord = typeof GenerationRecord.Type

/** Model ids, slugs and key ids are compared exactly. */
const Word = text(256)

/** An error type, `any` (failed) or `none` (not failed). */
const FailedBy = Schema.optionalKey(Schema.Literals(["any", "none", ...generationErrors]))

const page = {
  limit: limit(100, 20),
  cursor: cursor("gen"),
  from: Schema.optionalKey(Moment),
  to: Schema.optionalKey(Moment),
  model: Schema.optionalKey(Word)
}

const listOf = <Record extends Schema.Top>(identifier: string, record: Record) =>
  Schema.Struct({
    object: Schema.Literal("list"),
    data: Schema.Array(record),
    has_more: Schema.Boolean,
    next_cursor: Schema.NullOr(Schema.String)
  }).annotate({ identifier })

export class GenerationsGroup extends HttpApiGroup.make("generations")
  .add(
    HttpApiEndpoint.get("get", "/v1/generations/:generation_id", {
      params: { generation_id: Schema.String },
      success: GenerationRecord,
      error: errors(403, 404, 409, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Read one of the key's own generations" })),
    HttpApiEndpoint.get("list", "/v1/generations", {
      query: page,
      success: listOf("GenerationList", GenerationRecord),
      error: errors(403, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "List the key's own generations, newest first" }))
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateEndpoints(RequiredScope, "generations:read")
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Generations" })) {}

const keyOf = {
  key_id: Schema.String,
  key_name: Schema.NullOr(Schema.String).annotate({ description: "Null: the key does not exist any more." })
}

/** The record with its key and the key's owner. */
export const AdminGenerationRecord = Schema.Struct({
  ...GenerationRecord.fields,
  attempts: Schema.Array(AdminAttempt),
  ...keyOf,
  owner: Schema.NullOr(Schema.String),
  owner_name: Schema.NullOr(Schema.String).annotate({ description: "The owner's address or number." })
}).annotate({ identifier: "AdminGenerationRecord" })

export class AdminGenerationsGroup extends HttpApiGroup.make("adminGenerations")
  .add(
    HttpApiEndpoint.get("get", "/v1/admin/generations/:generation_id", {
      params: { generation_id: Schema.String },
      success: AdminGenerationRecord,
      error: errors(404, 409, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Read any generation" })),
    HttpApiEndpoint.get("list", "/v1/admin/generations", {
      query: {
        ...page,
        key: Schema.optionalKey(Word),
        provider: Schema.optionalKey(Word),
        error: FailedBy
      },
      success: listOf("AdminGenerationList", AdminGenerationRecord),
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "List everyone's generations, newest first" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: generations" })) {}

/** The record with its key. */
export const OwnedGenerationRecord = Schema.Struct({ ...GenerationRecord.fields, ...keyOf }).annotate({
  identifier: "OwnedGenerationRecord"
})

export class OwnedGenerationsGroup extends HttpApiGroup.make("ownedGenerations")
  .add(
    HttpApiEndpoint.get("get", "/v1/portal/generations/:generation_id", {
      params: { generation_id: Schema.String },
      success: OwnedGenerationRecord,
      error: errors(404, 409, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Read a generation of one of your keys" })),
    HttpApiEndpoint.get("list", "/v1/portal/generations", {
      query: { ...page, key: Schema.optionalKey(Word), error: FailedBy },
      success: listOf("OwnedGenerationList", OwnedGenerationRecord),
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "List the generations of your keys, newest first" }))
  )
  .middleware(Validation)
  .middleware(SessionAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Portal: generations" })) {}
