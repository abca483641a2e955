/** What signed-in users do for themselves (contract §12): keys within what they were granted, and what these have used. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Scope, Tier } from "../domain/Key.ts"
import { SessionAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { DayOrMoment } from "./Moments.ts"
import { bodyOptional, refusesUnknownQuery } from "./Strictness.ts"
import {
  ApiKey,
  ApiKeyList,
  CreateKeyRequest,
  IssuedApiKey,
  keyListQuery,
  RotateKeyRequest,
  UpdateKeyRequest
} from "./Keys.ts"

const { tier: _, ...wanted } = CreateKeyRequest.fields

/** What is absent is as much as was granted. */
export const CreateOwnKeyRequest = Schema.Struct({ ...wanted, tier: Schema.optionalKey(Tier) }).annotate({
  identifier: "CreateOwnKeyRequest"
})

const figures = {
  requests: Schema.Int,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  billed_usd: Schema.Finite
}

export const OwnUsage = Schema.Struct({
  object: Schema.Literal("usage"),
  from: Schema.String.annotate({ format: "date-time" }),
  to: Schema.String.annotate({ format: "date-time" }),
  total: Schema.Struct(figures),
  /** UTC days that have any, oldest first. */
  by_day: Schema.Array(Schema.Struct({ date: Schema.String, ...figures })),
  /** Dearest first. */
  by_model: Schema.Array(Schema.Struct({ model: Schema.String, ...figures })),
  by_key: Schema.Array(Schema.Struct({ key_id: Schema.String, name: Schema.NullOr(Schema.String), ...figures }))
}).annotate({ identifier: "OwnUsage" })
export type OwnUsage = typeof OwnUsage.Type

/** What an admin granted to the user, and what of it is left to give to keys. */
export const OwnGrants = Schema.Struct({
  object: Schema.Literal("grants"),
  tier: Tier,
  scopes: Schema.Array(Scope),
  /** For all keys of the user together; null: no cap. */
  monthly_budget_usd: Schema.NullOr(Schema.Finite),
  available_usd: Schema.NullOr(Schema.Finite),
  /** Keys that are not revoked. */
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
    }).annotateMerge(OpenApi.annotations({ title: "List one's own keys, newest first" })),
    HttpApiEndpoint.post("create", "/v1/portal/keys", {
      payload: CreateOwnKeyRequest,
      success: IssuedApiKey,
      error: errors(403, 429, 500, 503)
    }).annotateMerge(OpenApi.annotations({ title: "Make a key; the secret is shown this once" })),
    HttpApiEndpoint.patch("update", "/v1/portal/keys/:key_id", {
      params: keyId,
      payload: UpdateKeyRequest,
      success: ApiKey,
      error: errors(403, 404, 409, 500, 503)
    }),
    HttpApiEndpoint.delete("revoke", "/v1/portal/keys/:key_id", {
      params: keyId,
      success: ApiKey,
      error: errors(404, 500, 503)
    }),
    HttpApiEndpoint.post("rotate", "/v1/portal/keys/:key_id/rotate", {
      params: keyId,
      payload: [RotateKeyRequest, Schema.Null],
      success: IssuedApiKey,
      error: errors(404, 409, 500, 503)
    }).annotateMerge(bodyOptional),
    HttpApiEndpoint.get("grants", "/v1/portal/grants", {
      success: OwnGrants,
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ title: "What one was granted, and what of it is left to give to keys" })),
    HttpApiEndpoint.get("usage", "/v1/portal/usage", {
      query: { from: Schema.optionalKey(DayOrMoment), to: Schema.optionalKey(DayOrMoment) },
      success: OwnUsage,
      error: errors(400, 500, 503)
    }).annotateMerge(
      OpenApi.annotations({ title: "What one's keys have used, by day, model and key; this month unless told" })
    )
  )
  .middleware(Validation)
  .middleware(SessionAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Portal" })) {}
