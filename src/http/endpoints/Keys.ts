/** The endpoints of API keys. Only the responses that issue or rotate a key contain its secret. */
import { DateTime, Effect, Redacted, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authorization.ts"
import { type ApiKey, type BulkKeys, type UpdateKeyRequest } from "../../api/Keys.ts"
import { KeyRevoked, NotFound, type Reason } from "../../domain/Errors.ts"
import { allScopes, statusOf } from "../../domain/Key.ts"
import { monthEndMs, nanoFromUsd, usdFromNano } from "../../domain/pricing/Money.ts"
import { Names } from "../../gateway/admin/Names.ts"
import { ApiKeys, type IssuedKey } from "../../gateway/keys/ApiKeys.ts"
import { type StateChange } from "../../gateway/keys/BulkChange.ts"
import { type KeyListQuery, type KeyView, type KeyViewPage } from "../../gateway/keys/KeyView.ts"
import { orUnavailable } from "../../gateway/StoreUnavailable.ts"
import { StoredResponses } from "../../gateway/responses/StoredResponses.ts"
import { guard } from "../errors/ErrorResponse.ts"
import { wireOf } from "../errors/WireErrors.ts"
import { makeCheck } from "./KeyFaults.ts"

const layer = HttpApiBuilder.group(
  Api,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const apiKeys = yield* ApiKeys
    const responses = yield* StoredResponses
    const check = yield* makeCheck
    const names = yield* Names
    const withOwners = (keys: ReadonlyArray<ApiKey>) =>
      Effect.map(orUnavailable(names.of(keys.map(({ owner }) => ({ keyId: null, ownerId: owner })))), (named) =>
        keys.map((key): ApiKey => ({ ...key, owner_name: key.owner === null ? null : (named.get(key.owner) ?? null) }))
      )
    return handlers.handleAll({
      create: ({ payload: asked }) =>
        guard(
          check(asked, "made", (payload) =>
            Effect.map(
              apiKeys.issue({
                name: payload.name,
                tier: payload.tier,
                scopes: payload.scopes ?? allScopes,
                ...(payload.monthly_budget_usd === undefined
                  ? {}
                  : { monthlyBudgetNano: budgetOf(payload.monthly_budget_usd) }),
                allowedModels: payload.allowed_models ?? null,
                privacy: payload.privacy ?? null,
                ownerId: null,
                expiresAtMs: momentOf(payload.expires_at)
              }),
              issuedWire
            )
          )
        ),
      list: ({ query }) =>
        guard(
          Effect.gen(function* () {
            const owned = query.owner === undefined ? {} : { ownerId: query.owner }
            const page = yield* apiKeys.list({ ...keyQueryOf(query), ...owned })
            const { data, ...rest } = keyListWire(page)
            return { ...rest, data: yield* withOwners(data) }
          })
        ),
      get: ({ params }) =>
        guard(
          Effect.gen(function* () {
            const key = keyWire(yield* apiKeys.get(params.key_id))
            const [named = key] = yield* withOwners([key])
            return named
          })
        ),
      bulk: ({ payload }) =>
        guard(Effect.map(apiKeys.setState(payload.ids, states[payload.action]), bulkWire(payload.action))),
      update: ({ params, payload }) =>
        guard(
          check(payload, "changed", (checked) => Effect.map(apiKeys.change(params.key_id, changeOf(checked)), keyWire))
        ),
      revoke: ({ params }) =>
        guard(
          Effect.map(
            Effect.tap(apiKeys.revoke(params.key_id), () => responses.removeAll(params.key_id)),
            keyWire
          )
        ),
      rotate: ({ params, payload }) =>
        guard(Effect.map(apiKeys.rotate(params.key_id, payload?.grace_seconds ?? 0), issuedWire))
    })
  })
)

const states = { enable: "active", disable: "disabled", revoke: "revoked" } as const

const bulkWire =
  (action: BulkKeys["action"]) =>
  (changes: ReadonlyArray<StateChange>): BulkKeys => {
    const data = changes.map(({ id, outcome, view }): BulkKeys["data"][number] => ({
      id,
      outcome: outcome === "changed" || outcome === "unchanged" ? outcome : "failed",
      status: view === null ? null : statusOf(view.key, view.nowMs),
      error:
        outcome === "missing"
          ? faultOf(new NotFound({ what: "key", id }))
          : outcome === "revoked"
            ? faultOf(new KeyRevoked())
            : null
    }))
    const count = (of: BulkKeys["data"][number]["outcome"]) => data.filter(({ outcome }) => outcome === of).length
    return {
      object: "bulk_change",
      action,
      changed: count("changed"),
      unchanged: count("unchanged"),
      failed: count("failed"),
      data
    }
  }

const faultOf = (reason: Reason) => {
  const { code, message, type } = wireOf(reason)
  return { type, code, message }
}

type Sort = NonNullable<KeyListQuery["sort"]>

interface KeyListSent {
  readonly limit: number
  readonly cursor?: string
  readonly search?: string
  readonly status?: "active" | "disabled" | "expired" | "revoked" | "live"
  readonly sort: Sort
  readonly order?: "asc" | "desc"
}

/** The orders that ascend unless the other direction is asked for. */
const ascending: ReadonlyArray<Sort> = ["name", "expires"]

export const keyQueryOf = ({ cursor, limit, order, search, sort, status }: KeyListSent): KeyListQuery => ({
  limit,
  cursor: cursor ?? null,
  sort,
  ...(status === undefined ? {} : { status }),
  ...(order === undefined ? {} : { isReversed: (order === "asc") !== ascending.includes(sort) }),
  ...(search === undefined || search.trim() === "" ? {} : { search: search.trim() })
})

export const keyListWire = ({ keys, nextCursor, total }: KeyViewPage) => ({
  object: "list" as const,
  data: keys.map(keyWire),
  total,
  has_more: nextCursor !== null,
  next_cursor: nextCursor
})

/** `GET /v1/key`: the key that authenticates the request. */
const layerOwn = HttpApiBuilder.group(
  Api,
  "ownKey",
  Effect.fnUntraced(function* (handlers) {
    const apiKeys = yield* ApiKeys
    return handlers.handle("get", () =>
      guard(Effect.flatMap(CurrentKey, ({ key }) => Effect.map(apiKeys.get(key.id), keyWire)))
    )
  })
)

const budgetOf = (usd: number | null | undefined): number | null =>
  usd === null || usd === undefined ? null : nanoFromUsd(usd)

/** The changes of a request: its members that are present. */
export const changeOf = (payload: typeof UpdateKeyRequest.Type) => ({
  ...(payload.name === undefined ? {} : { name: payload.name }),
  ...(payload.tier === undefined ? {} : { tier: payload.tier }),
  ...(payload.monthly_budget_usd === undefined ? {} : { monthlyBudgetNano: budgetOf(payload.monthly_budget_usd) }),
  ...(payload.allowed_models === undefined ? {} : { allowedModels: payload.allowed_models }),
  ...(payload.privacy === undefined ? {} : { privacy: payload.privacy }),
  ...(payload.scopes === undefined ? {} : { scopes: payload.scopes }),
  ...(payload.expires_at === undefined ? {} : { expiresAtMs: momentOf(payload.expires_at) }),
  ...(payload.status === undefined ? {} : { state: payload.status })
})

export const momentOf = (moment: DateTime.Utc | null | undefined): number | null =>
  moment === null || moment === undefined ? null : DateTime.toEpochMillis(moment)

const iso = (ms: number): string => new Date(ms).toISOString()
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms))

export const keyWire = ({ balance, key, limits, nowMs }: KeyView): ApiKey => {
  const { spentNano, reservedNano } = balance
  return {
    object: "api_key",
    id: key.id,
    name: key.name,
    tier: key.tier,
    scopes: key.scopes,
    status: statusOf(key, nowMs),
    prefix: key.prefix,
    monthly_budget_usd: key.monthlyBudgetNano === null ? null : usdFromNano(key.monthlyBudgetNano),
    allowed_models: key.allowedModels,
    privacy: key.privacy,
    rate_limits: {
      requests_per_minute: limits.requestsPerMinute,
      tokens_per_minute: limits.tokensPerMinute,
      concurrency: limits.concurrency
    },
    usage: {
      month_spent_usd: usdFromNano(spentNano),
      month_reserved_usd: usdFromNano(reservedNano),
      month_remaining_usd:
        key.monthlyBudgetNano === null
          ? null
          : usdFromNano(Math.max(0, key.monthlyBudgetNano - spentNano - reservedNano)),
      resets_at: iso(monthEndMs(nowMs))
    },
    owner: key.ownerId,
    created_at: iso(key.createdAtMs),
    updated_at: iso(key.updatedAtMs),
    last_used_at: isoOrNull(key.lastUsedAtMs),
    expires_at: isoOrNull(key.expiresAtMs),
    revoked_at: isoOrNull(key.revokedAtMs)
  }
}

export const issuedWire = ({ secret, view }: IssuedKey) => {
  const { id, object, ...rest } = keyWire(view)
  return { object, id, key: Redacted.value(secret), ...rest }
}

export const layers = Layer.merge(layer, layerOwn)
