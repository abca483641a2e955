/**
 * API keys. Admins issue, list, change, revoke and rotate them. `GET /v1/key` describes the
 * caller's own key.
 */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { allScopes, Scope, Tier } from "../domain/Key.ts"
import { KeyPrivacy } from "../domain/Privacy.ts"
import { AdminAuthorization, Authorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { AnsweredMoment, Moment } from "./schemas/Moments.ts"
import { cursor, limit } from "./schemas/Paging.ts"
import { bodyOptional, refusesUnknownQuery } from "./schemas/Strictness.ts"
import { name, text } from "./schemas/Texts.ts"

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const Name = name(200)
const MOST_USD = 1_000_000
const ONE_NANO_USD = 1e-9
/** A smaller cap would be below one nano-USD, the unit of the ledger. */
const Budget = Schema.Finite.check(Schema.isBetween({ minimum: ONE_NANO_USD, maximum: MOST_USD }))
/** Zero stops an existing key. */
const ChangedBudget = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: MOST_USD }),
  Schema.makeFilter((usd: number) => usd === 0 || usd >= ONE_NANO_USD, {
    expected: `0, or at least ${ONE_NANO_USD}`,
    toJsonSchema: () => [{}, true]
  })
)
const AllowedModels = Schema.Array(name(256)).check(Schema.isMinLength(1), Schema.isMaxLength(1_000))
/** Accepts `allowed_models` entries without a match in the current catalogue. */
const Force = Schema.optionalKey(Schema.Boolean)
const Scopes = Schema.Array(Scope).check(Schema.isMinLength(1), Schema.isMaxLength(allScopes.length))

export const CreateKeyRequest = Schema.Struct({
  name: Name,
  tier: Tier.annotate({ identifier: undefined, default: "free" }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("free" as const))
  ),
  /** Monthly cap in USD. Absent: the tier's default. Null: no cap. */
  monthly_budget_usd: nullable(Budget),
  /** Model ids and `author/*`. Null or absent: every model. */
  allowed_models: nullable(AllowedModels),
  /** A mode stricter than the deployment's. Null or absent: the deployment's mode. */
  privacy: nullable(KeyPrivacy),
  /** Null or absent: all scopes. */
  scopes: nullable(Scopes),
  expires_at: nullable(Moment),
  force: Force
}).annotate({ identifier: "CreateKeyRequest" })

export const UpdateKeyRequest = Schema.Struct({
  name: Schema.optionalKey(Name),
  tier: Schema.optionalKey(Tier),
  monthly_budget_usd: nullable(ChangedBudget),
  allowed_models: nullable(AllowedModels),
  privacy: nullable(KeyPrivacy),
  scopes: Schema.optionalKey(Scopes),
  expires_at: nullable(Moment),
  force: Force,
  /** A key is revoked with `DELETE`, for good. */
  status: Schema.optionalKey(Schema.Literals(["active", "disabled"]))
})
  .check(Schema.isMinProperties(1))
  .annotate({ identifier: "UpdateKeyRequest" })

export const RotateKeyRequest = Schema.Struct({
  /** Time for which the old secret stays valid, in seconds; at most 30 days. */
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
    resets_at: AnsweredMoment
  }),
  owner: Schema.NullOr(Schema.String),
  owner_name: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
    description: "The owner's address or number, for admins."
  }),
  created_at: AnsweredMoment,
  updated_at: AnsweredMoment,
  last_used_at: Schema.NullOr(AnsweredMoment),
  expires_at: Schema.NullOr(AnsweredMoment),
  revoked_at: Schema.NullOr(AnsweredMoment)
}

export const ApiKey = Schema.Struct(keyFields).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

const { object, id, ...rest } = keyFields
/** The record with the secret, which is shown only once. */
export const IssuedApiKey = Schema.Struct({ object, id, key: Schema.String, ...rest }).annotate({
  identifier: "IssuedApiKey"
})

const keyId = { key_id: Schema.String }

const MOST_AT_ONCE = 500

export const BulkKeysRequest = Schema.Struct({
  action: Schema.Literals(["enable", "disable", "revoke"]).annotate({
    description: "What happens to each key. `revoke` is final."
  }),
  ids: Schema.Array(text(64))
    .check(Schema.isMinLength(1), Schema.isMaxLength(MOST_AT_ONCE), Schema.isUnique())
    .annotate({ description: `Ids of keys, at most ${MOST_AT_ONCE}, each once.` })
}).annotate({ identifier: "BulkKeysRequest" })

export const BulkKeys = Schema.Struct({
  object: Schema.Literal("bulk_change"),
  action: BulkKeysRequest.fields.action,
  changed: Schema.Int.annotate({ description: "The number of keys that were changed." }),
  unchanged: Schema.Int.annotate({ description: "The number of keys that had this state before." }),
  failed: Schema.Int.annotate({ description: "The number of ids that no key has, or whose key is revoked." }),
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      outcome: Schema.Literals(["changed", "unchanged", "failed"]).annotate({ description: "What became of the key." }),
      status: Schema.NullOr(keyFields.status).annotate({ description: "Its status now. Null: there is no such key." }),
      error: Schema.NullOr(
        Schema.Struct({ type: Schema.String, code: Schema.NullOr(Schema.String), message: Schema.String })
      ).annotate({ description: "Why it failed, else null." })
    })
  ).annotate({ description: "One entry for each id, in the order of the request." })
}).annotate({ identifier: "BulkKeys" })
export type BulkKeys = typeof BulkKeys.Type

const Words = text(200)

/** The page of a key list. */
export const keyListQuery = {
  limit: limit(1_000, 100),
  cursor: cursor("key"),
  search: Schema.optionalKey(Words).annotate({ description: "A part of the name, or the whole id or prefix." }),
  status: Schema.optionalKey(Schema.Literals(["active", "disabled", "expired", "revoked", "live"])).annotate({
    description: "Only keys with this status. `live`: active or disabled."
  }),
  sort: Schema.Literals(["created", "name", "last_used", "expires", "spent"])
    .annotate({ default: "created" })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed("created" as const))),
  order: Schema.optionalKey(Schema.Literals(["asc", "desc"])).annotate({
    description: "The direction. Default: names and expiries ascending, the others descending."
  })
}

export const ApiKeyList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ApiKey),
  total: Schema.Int.annotate({ description: "The number of keys on all pages." }),
  has_more: Schema.Boolean,
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ApiKeyList" })

export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.post("create", "/v1/keys", {
      payload: CreateKeyRequest,
      success: IssuedApiKey,
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Issue a key. The secret is shown only once" })),
    HttpApiEndpoint.get("list", "/v1/keys", {
      query: { ...keyListQuery, owner: Schema.optionalKey(Words).annotate({ description: "A user's id." }) },
      success: ApiKeyList,
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "List, search and sort all keys" })),
    HttpApiEndpoint.post("bulk", "/v1/keys/bulk", {
      payload: BulkKeysRequest,
      success: BulkKeys,
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Enable, disable or revoke several keys at once" })),
    HttpApiEndpoint.get("get", "/v1/keys/:key_id", {
      params: keyId,
      success: ApiKey,
      error: errors(404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Read one key" })),
    HttpApiEndpoint.patch("update", "/v1/keys/:key_id", {
      params: keyId,
      payload: UpdateKeyRequest,
      success: ApiKey,
      error: errors(404, 409, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Change a key" })),
    HttpApiEndpoint.delete("revoke", "/v1/keys/:key_id", {
      params: keyId,
      success: ApiKey,
      error: errors(404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Revoke a key, for good" })),
    HttpApiEndpoint.post("rotate", "/v1/keys/:key_id/rotate", {
      params: keyId,
      payload: [RotateKeyRequest, Schema.Null],
      success: IssuedApiKey,
      error: errors(404, 409, 500, 503)
    })
      .annotateMerge(OpenApi.annotations({ summary: "Give a key a new secret, which is shown only once" }))
      .annotateMerge(bodyOptional)
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "API keys" })) {}

export class OwnKeyGroup extends HttpApiGroup.make("ownKey")
  .add(
    HttpApiEndpoint.get("get", "/v1/key", { success: ApiKey, error: errors(500, 503) }).annotateMerge(
      OpenApi.annotations({ summary: "Read the caller's own key and its remaining budget" })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Own key" })) {}
