/** Self-service of signed-in users: keys within their grants, and the usage of these keys. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Scope, Tier } from "../../domain/Key.ts"
import { SessionAuthorization } from "../Authorization.ts"
import { errors, Validation } from "../Failure.ts"
import { DayOrMoment } from "../schemas/Moments.ts"
import { bodyOptional, refusesUnknownQuery } from "../schemas/Strictness.ts"
import { text } from "../schemas/Texts.ts"
import {
  ApiKey,
  ApiKeyList,
  CreateKeyRequest,
  IssuedApiKey,
  keyListQuery,
  RotateKeyRequest,
  UpdateKeyRequest
} from "../Keys.ts"

const { tier: _, ...wanted } = CreateKeyRequest.fields

/** Absent members default to the grant. */
export const CreateOwnKeyRequest = Schema.Struct({ ...wanted, tier: Schema.optionalKey(Tier) }).annotate({
  identifier: "CreateOwnKeyRequest"
})

const figures = {
  requests: Schema.Int,
  failed: Schema.Int,
  refusals: Schema.Int.annotate({
    description: "Number of requests that the gateway refused. They are not among `requests`."
  }),
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  billed_usd: Schema.Finite
}

export const OwnUsage = Schema.Struct({
  object: Schema.Literal("usage"),
  from: Schema.String.annotate({ format: "date-time" }),
  to: Schema.String.annotate({ format: "date-time" }),
  total: Schema.Struct(figures),
  /** UTC days with usage, oldest first. */
  by_day: Schema.Array(Schema.Struct({ date: Schema.String, ...figures })),
  /** Most expensive first. */
  by_model: Schema.Array(
    Schema.Struct({
      model: Schema.NullOr(Schema.String).annotate({ description: "Null: refused requests without a model." }),
      ...figures
    })
  ),
  by_key: Schema.Array(Schema.Struct({ key_id: Schema.String, name: Schema.NullOr(Schema.String), ...figures }))
}).annotate({ identifier: "OwnUsage" })
export type OwnUsage = typeof OwnUsage.Type

/** The user's grants, and the part that can still be assigned to keys. */
export const OwnGrants = Schema.Struct({
  object: Schema.Literal("grants"),
  tier: Tier,
  scopes: Schema.Array(Scope),
  /** For all keys of the user together. Null: no cap. */
  monthly_budget_usd: Schema.NullOr(Schema.Finite),
  available_usd: Schema.NullOr(Schema.Finite),
  month_used_usd: Schema.Finite.annotate({
    description: "What all keys have spent and reserved in this UTC month, in USD."
  }),
  /** Number of keys that are not revoked. */
  keys: Schema.Int,
  most_keys: Schema.Int
}).annotate({ identifier: "OwnGrants" })
export type OwnGrants = typeof OwnGrants.Type

const keyId = { key_id: Schema.String }

export class PortalGroup extends HttpApiGroup.make("portal")
  .add(
    HttpApiEndpoint.get("list", "/v1/portal/keys", {
      query: keyListQuery,
      success: ApiKeyList,
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "List, search and sort your keys" })),
    HttpApiEndpoint.post("create", "/v1/portal/keys", {
      payload: CreateOwnKeyRequest,
      success: IssuedApiKey,
      error: errors(403, 429, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Create a key. The secret is shown only once" })),
    HttpApiEndpoint.get("get", "/v1/portal/keys/:key_id", {
      params: keyId,
      success: ApiKey,
      error: errors(404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Read one of your keys" })),
    HttpApiEndpoint.patch("update", "/v1/portal/keys/:key_id", {
      params: keyId,
      payload: UpdateKeyRequest,
      success: ApiKey,
      error: errors(403, 404, 409, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Change one of your keys" })),
    HttpApiEndpoint.delete("revoke", "/v1/portal/keys/:key_id", {
      params: keyId,
      success: ApiKey,
      error: errors(404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Revoke one of your keys, for good" })),
    HttpApiEndpoint.post("rotate", "/v1/portal/keys/:key_id/rotate", {
      params: keyId,
      payload: [RotateKeyRequest, Schema.Null],
      success: IssuedApiKey,
      error: errors(404, 409, 500, 503)
    })
      .annotateMerge(OpenApi.annotations({ summary: "Give one of your keys a new secret, which is shown only once" }))
      .annotateMerge(bodyOptional),
    HttpApiEndpoint.get("grants", "/v1/portal/grants", {
      success: OwnGrants,
      error: errors(500, 503)
    }).annotateMerge(
      OpenApi.annotations({ summary: "Read your grants, and the part that can still be assigned to keys" })
    ),
    HttpApiEndpoint.get("usage", "/v1/portal/usage", {
      query: {
        from: Schema.optionalKey(DayOrMoment),
        to: Schema.optionalKey(DayOrMoment),
        key: Schema.optionalKey(text(256)),
        model: Schema.optionalKey(text(256))
      },
      success: OwnUsage,
      error: errors(400, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Usage of your keys by day, model and key. Default: this month" }))
  )
  .middleware(Validation)
  .middleware(SessionAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Portal" })) {}
