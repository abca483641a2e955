/** The self-service endpoints: a signed-in user's own keys and usage. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Authorization.ts"
import { type OwnUsage } from "../../api/signin/Portal.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { nanoFromUsd, usdFromNano } from "../../domain/pricing/Money.ts"
import { type UserRecord } from "../../domain/User.ts"
import { StoredResponses } from "../../gateway/responses/StoredResponses.ts"
import { Portal, type Usage } from "../../gateway/signin/Portal.ts"
import { guard } from "../errors/ErrorResponse.ts"
import { makeCheck } from "./KeyFaults.ts"
import { changeOf, issuedWire, keyWire, momentOf, keyListWire, keyQueryOf } from "./Keys.ts"
import { spanOf } from "./Usage.ts"

const asUser = <A, R = never>(run: (user: UserRecord) => Effect.Effect<A, GatewayError, R>) =>
  guard(Effect.flatMap(CurrentUser, ({ user }) => run(user)))

export const layer = HttpApiBuilder.group(
  Api,
  "portal",
  Effect.fnUntraced(function* (handlers) {
    const portal = yield* Portal
    const responses = yield* StoredResponses
    const check = yield* makeCheck
    return handlers.handleAll({
      list: ({ query }) => asUser((user) => Effect.map(portal.list(user, keyQueryOf(query)), keyListWire)),
      get: ({ params }) => asUser((user) => Effect.map(portal.get(user, params.key_id), keyWire)),
      create: ({ payload: asked }) =>
        asUser((user) =>
          check(asked, "made", (payload) =>
            Effect.map(
              portal.create(user, {
                name: payload.name,
                tier: payload.tier ?? null,
                scopes: payload.scopes ?? null,
                monthlyBudgetNano:
                  payload.monthly_budget_usd === undefined || payload.monthly_budget_usd === null
                    ? null
                    : nanoFromUsd(payload.monthly_budget_usd),
                allowedModels: payload.allowed_models ?? null,
                privacy: payload.privacy ?? null,
                expiresAtMs: momentOf(payload.expires_at)
              }),
              issuedWire
            )
          )
        ),
      update: ({ params, payload }) =>
        asUser((user) =>
          check(payload, "changed", (checked) =>
            Effect.map(portal.change(user, params.key_id, changeOf(checked)), keyWire)
          )
        ),
      revoke: ({ params }) =>
        asUser((user) =>
          Effect.map(
            Effect.tap(portal.revoke(user, params.key_id), () => responses.removeAll(params.key_id)),
            keyWire
          )
        ),
      rotate: ({ params, payload }) =>
        asUser((user) => Effect.map(portal.rotate(user, params.key_id, payload?.grace_seconds ?? 0), issuedWire)),
      grants: () =>
        asUser((user) =>
          Effect.map(portal.grants(user), ({ availableNano, grants, keys, maxKeys: mostKeys, usedNano }) => ({
            object: "grants" as const,
            tier: grants.tier,
            scopes: grants.scopes,
            monthly_budget_usd: dollars(grants.monthlyBudgetNano),
            available_usd: dollars(availableNano),
            month_used_usd: usdFromNano(usedNano),
            keys,
            most_keys: mostKeys
          }))
        ),
      usage: ({ query }) => asUser((user) => Effect.map(portal.usage(user, ownUsageOf(query)), usageWire))
    })
  })
)

const ownUsageOf = ({ key, model, ...span }: Parameters<typeof spanOf>[0] & { key?: string; model?: string }) => ({
  ...spanOf(span),
  keyId: key ?? null,
  ...(model === undefined ? {} : { model })
})

const dollars = (nano: number | null): number | null => (nano === null ? null : usdFromNano(nano))

const figuresOf = (figures: Usage["total"]): OwnUsage["total"] => ({
  requests: figures.requests,
  failed: figures.failed,
  refusals: figures.refusals,
  prompt_tokens: figures.promptTokens,
  completion_tokens: figures.completionTokens,
  billed_usd: usdFromNano(figures.billedNano)
})

const usageWire = ({ fromMs, names, parts, toMs, total }: Usage): OwnUsage => {
  const rowsBy = (group: "day" | "model" | "key") =>
    (parts.get(group)?.rows ?? []).map((row) => ({ name: row.group ?? "", figures: figuresOf(row) }))
  return {
    object: "usage",
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    total: figuresOf(total),
    by_day: rowsBy("day").map(({ figures, name }) => ({ date: name, ...figures })),
    by_model: rowsBy("model").map(({ figures, name }) => ({ model: name === "" ? null : name, ...figures })),
    by_key: rowsBy("key").map(({ figures, name }) => ({ key_id: name, name: names.get(name) ?? null, ...figures }))
  }
}
