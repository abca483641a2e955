/** API keys: issued, listed, changed, revoked and rotated by the admin (contract §5); `GET /v1/key` tells a caller about its own. */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Scope, Tier } from "../domain/Key.ts"
import { KeyPrivacy } from "../domain/Privacy.ts"
import { AdminAuthorization, Authorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
/** Control characters have no place in a name, and Postgres takes no NUL. */
const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200), Schema.isPattern(/^\P{Cc}*$/u))
const Budget = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0), Schema.isLessThanOrEqualTo(1_000_000))
const ModelPattern = Schema.String.check(Schema.isMinLength(1), Schema.isPattern(/^\P{Cc}*$/u))
const Moment = Schema.DateTimeUtcFromString

export const CreateKeyRequest = Schema.Struct({
  name: Name,
  tier: Tier.annotate({ identifier: undefined, default: "free" }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("free" as const))
  ),
  /** Monthly cap in USD; null or absent: none. */
  monthly_budget_usd: nullable(Budget),
  /** Model ids and `author/*`; null or absent: every model. */
  allowed_models: nullable(Schema.Array(ModelPattern)),
  /** Stricter than the deployment's mode; null or absent: the deployment's. */
  privacy: nullable(KeyPrivacy),
  /** Null or absent: all of them. */
  scopes: nullable(Schema.Array(Scope).check(Schema.isMinLength(1))),
  expires_at: nullable(Moment)
}).annotate({ identifier: "CreateKeyRequest" })

export const UpdateKeyRequest = Schema.Struct({
  name: Schema.optionalKey(Name),
  tier: Schema.optionalKey(Tier),
  monthly_budget_usd: nullable(Budget),
  allowed_models: nullable(Schema.Array(ModelPattern)),
  privacy: nullable(KeyPrivacy),
  scopes: Schema.optionalKey(Schema.Array(Scope).check(Schema.isMinLength(1))),
  expires_at: nullable(Moment),
  /** Revoking is `DELETE`, and final. */
  status: Schema.optionalKey(Schema.Literals(["active", "disabled"]))
}).annotate({ identifier: "UpdateKeyRequest" })

export const RotateKeyRequest = Schema.Struct({
  /** How long the old secret stays valid, in seconds; at most 30 days. */
  grace_seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_592_000 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(0))
  )
}).annotate({ identifier: "RotateKeyRequest" })

const keyFields = {
  object: Schema.Literal("api_key"),
  id: Schema.String,
  name: Schema.String,
  tier: Tier,
  scopes: Schema.Array(Scope),
  status: Schema.Literals(["active", "disabled", "revoked", "expired"]),
  prefix: Schema.String,
  monthly_budget_usd: Schema.NullOr(Schema.Finite),
  allowed_models: Schema.NullOr(Schema.Array(Schema.String)),
  privacy: Schema.NullOr(KeyPrivacy),
  rate_limits: Schema.Struct({
    requests_per_minute: Schema.Int,
    tokens_per_minute: Schema.Int,
    concurrency: Schema.Int
  }),
  usage: Schema.Struct({
    month_spent_usd: Schema.Finite,
    month_reserved_usd: Schema.Finite,
    month_remaining_usd: Schema.NullOr(Schema.Finite),
    resets_at: Schema.String
  }),
  owner: Schema.NullOr(Schema.String),
  created_at: Schema.String,
  updated_at: Schema.String,
  last_used_at: Schema.NullOr(Schema.String),
  expires_at: Schema.NullOr(Schema.String),
  revoked_at: Schema.NullOr(Schema.String)
}

export const ApiKey = Schema.Struct(keyFields).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

const { object, id, ...rest } = keyFields
/** The record and, this once, the secret. */
export const IssuedApiKey = Schema.Struct({ object, id, key: Schema.String, ...rest }).annotate({
  identifier: "IssuedApiKey"
})

const keyId = { key_id: Schema.String }

/** Which page of a list of keys. */
export const keyListQuery = {
  limit: Schema.optionalKey(
    Schema.FiniteFromString.pipe(Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))))
  ),
  cursor: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^key_[0-9a-f]{32}$/)))
}

export const ApiKeyList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ApiKey),
  has_more: Schema.Boolean,
  next_cursor: Schema.NullOr(Schema.String)
})

export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.post("create", "/v1/keys", {
      payload: CreateKeyRequest,
      success: IssuedApiKey,
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ title: "Issue a key; the secret is shown this once" })),
    HttpApiEndpoint.get("list", "/v1/keys", {
      query: keyListQuery,
      success: ApiKeyList,
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ title: "List all keys, newest first" })),
    HttpApiEndpoint.get("get", "/v1/keys/:key_id", { params: keyId, success: ApiKey, error: errors(404, 500, 503) }),
    HttpApiEndpoint.patch("update", "/v1/keys/:key_id", {
      params: keyId,
      payload: UpdateKeyRequest,
      success: ApiKey,
      error: errors(404, 500, 503)
    }),
    HttpApiEndpoint.delete("revoke", "/v1/keys/:key_id", {
      params: keyId,
      success: ApiKey,
      error: errors(404, 500, 503)
    }),
    HttpApiEndpoint.post("rotate", "/v1/keys/:key_id/rotate", {
      params: keyId,
      payload: RotateKeyRequest,
      success: IssuedApiKey,
      error: errors(400, 404, 500, 503)
    })
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(OpenApi.annotations({ title: "API keys" })) {}

export class OwnKeyGroup extends HttpApiGroup.make("ownKey")
  .add(
    HttpApiEndpoint.get("get", "/v1/key", { success: ApiKey, error: errors(500, 503) }).annotateMerge(
      OpenApi.annotations({ title: "What the caller's own key is and has left" })
    )
  )
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Own key" })) {}
