/**
 * `GET /v1/usage` and `GET /v1/admin/usage`: usage and cost by day, model, key, owner or provider.
 */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdminAuthorization, Authorization, RequiredScope } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { DayOrMoment } from "./schemas/Moments.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"
import { text } from "./schemas/Texts.ts"

/** A day (`2026-11-01`), or any moment in it. */
const span = { from: Schema.optionalKey(DayOrMoment), to: Schema.optionalKey(DayOrMoment) }

const own = ["day", "model", "key"] as const
const all = [...own, "owner", "provider"] as const
const groupBy = <const Groups extends ReadonlyArray<string>>(groups: Groups) =>
  Schema.Literals(groups).pipe(Schema.withDecodingDefaultKey(Effect.succeed("day" as const)))

const Word = text(256)
const filters = {
  model: Schema.optionalKey(Word),
  provider: Schema.optionalKey(Word),
  format: Schema.Literals(["json", "csv"]).pipe(Schema.withDecodingDefaultKey(Effect.succeed("json" as const)))
}
const Csv = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv; charset=utf-8" }))

const figures = {
  requests: Schema.Int,
  /** Number of the requests that failed. */
  failed: Schema.Int,
  refusals: Schema.Int.annotate({
    description: "Number of requests that the gateway refused. They are not among `requests`."
  }),
  cache_hits: Schema.Int,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  cached_tokens: Schema.Int,
  total_cost_usd: Schema.Finite,
  markup_usd: Schema.Finite,
  billed_usd: Schema.Finite,
  /** The cost that cache hits avoided. */
  saved_usd: Schema.Finite
}

export const UsageReport = Schema.Struct({
  object: Schema.Literal("usage"),
  /** First instants of UTC days: `from` is inclusive, `to` exclusive. */
  from: Schema.String.annotate({ format: "date-time" }),
  to: Schema.String.annotate({ format: "date-time" }),
  group_by: Schema.Literals(all),
  /**
   * Days in order, other groups most expensive first. Each row has the member that `group_by`
   * names.
   */
  data: Schema.Array(
    Schema.Struct({
      day: Schema.optionalKey(Schema.String),
      model: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
        description: "The id of a model. Null: refused requests that named none, or none that exists."
      }),
      key: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
        description: "A key's id. Null: refused requests without a valid key."
      }),
      key_name: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({ description: "The key's name." }),
      owner: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
        description: "A user's id. Null: keys without an owner, and requests without a valid key."
      }),
      owner_name: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
        description: "The user's address or number."
      }),
      provider: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
        description: "A provider's slug. Null: refused requests."
      }),
      ...figures
    })
  ),
  /** Sum of all groups, including those that `data` omits. */
  total: Schema.Struct(figures),
  has_more: Schema.Boolean
}).annotate({ identifier: "UsageReport" })
export type UsageReport = typeof UsageReport.Type

export class UsageGroup extends HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("read", "/v1/usage", {
      query: { ...span, ...filters, group_by: groupBy(own) },
      success: [UsageReport, Csv],
      error: errors(400, 403, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Usage and cost of the key. Default: this month by day" }))
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateEndpoints(RequiredScope, "generations:read")
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Usage" })) {}

export class AdminUsageGroup extends HttpApiGroup.make("adminUsage")
  .add(
    HttpApiEndpoint.get("read", "/v1/admin/usage", {
      query: {
        ...span,
        ...filters,
        key: Schema.optionalKey(Word),
        owner: Schema.optionalKey(Word).annotate({ description: "A user's id." }),
        group_by: groupBy(all)
      },
      success: [UsageReport, Csv],
      error: errors(400, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Usage and cost of all keys. Default: this month by day" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: usage" })) {}
