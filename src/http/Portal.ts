/** The portal at the edge: a signed-in user's own keys and usage. */
import { Clock, DateTime, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { CurrentUser } from "../api/Authorization.ts"
import { type OwnUsage } from "../api/Portal.ts"
import { gatewayError, type GatewayError, InvalidRequest } from "../domain/Errors.ts"
import { nanoFromUsd, usdFromNano } from "../domain/Money.ts"
import { type UserRecord } from "../domain/User.ts"
import { Portal, type Usage } from "../gateway/Portal.ts"
import { guard } from "./Failure.ts"
import { changeOf, issuedWire, keyWire, momentOf } from "./Keys.ts"

const DEFAULT_PAGE = 100
const LONGEST_SPAN_MS = 92 * 86_400_000

const asUser = <A>(run: (user: UserRecord) => Effect.Effect<A, GatewayError>) =>
  guard(Effect.flatMap(CurrentUser, ({ user }) => run(user)))

export const layer = HttpApiBuilder.group(
  Api,
  "portal",
  Effect.fnUntraced(function* (handlers) {
    const portal = yield* Portal
    return handlers.handleAll({
      list: ({ query }) =>
        asUser((user) =>
          Effect.map(
            portal.list(user, { limit: query.limit ?? DEFAULT_PAGE, cursor: query.cursor ?? null }),
            ({ keys, nextCursor }) => ({
              object: "list" as const,
              data: keys.map(keyWire),
              has_more: nextCursor !== null,
              next_cursor: nextCursor
            })
          )
        ),
      create: ({ payload }) =>
        asUser((user) =>
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
        ),
      update: ({ params, payload }) =>
        asUser((user) => Effect.map(portal.change(user, params.key_id, changeOf(payload)), keyWire)),
      revoke: ({ params }) => asUser((user) => Effect.map(portal.revoke(user, params.key_id), keyWire)),
      rotate: ({ params, payload }) =>
        asUser((user) => Effect.map(portal.rotate(user, params.key_id, payload.grace_seconds), issuedWire)),
      grants: () =>
        asUser((user) =>
          Effect.map(portal.grants(user), ({ availableNano, grants, keys, mostKeys }) => ({
            object: "grants" as const,
            tier: grants.tier,
            scopes: grants.scopes,
            monthly_budget_usd: dollars(grants.monthlyBudgetNano),
            available_usd: dollars(availableNano),
            keys,
            most_keys: mostKeys
          }))
        ),
      usage: ({ query }) =>
        asUser((user) =>
          Effect.gen(function* () {
            const nowMs = yield* Clock.currentTimeMillis
            const toMs = query.to === undefined ? nowMs + 1 : DateTime.toEpochMillis(query.to)
            const fromMs = query.from === undefined ? monthStartMs(toMs - 1) : DateTime.toEpochMillis(query.from)
            if (fromMs > toMs || toMs - fromMs > LONGEST_SPAN_MS) {
              return yield* gatewayError(
                new InvalidRequest({
                  message: "`from` comes before `to`, by at most 92 days.",
                  param: "from",
                  code: "invalid_span",
                  provider: null
                })
              )
            }
            return usageWire(yield* portal.usage(user, fromMs, toMs))
          })
        )
    })
  })
)

const dollars = (nano: number | null): number | null => (nano === null ? null : usdFromNano(nano))

const monthStartMs = (ms: number): number => {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

type Rows = Usage["rows"]

const figuresOf = (rows: Rows) => {
  const sum = (of: (row: Rows[number]) => number): number => rows.reduce((total, row) => total + of(row), 0)
  return {
    requests: sum((row) => row.requests),
    prompt_tokens: sum((row) => row.promptTokens),
    completion_tokens: sum((row) => row.completionTokens),
    billed_usd: usdFromNano(sum((row) => row.billedNano))
  }
}

const dearestFirst = <A extends { readonly billed_usd: number; readonly requests: number }>(
  entries: ReadonlyArray<A>
): ReadonlyArray<A> => entries.toSorted((a, b) => b.billed_usd - a.billed_usd || b.requests - a.requests)

const usageWire = ({ fromMs, names, rows, toMs }: Usage): OwnUsage => ({
  object: "usage",
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
  total: figuresOf(rows),
  by_day: [...Map.groupBy(rows, ({ day }) => day)].map(([date, of]) => ({ date, ...figuresOf(of) })),
  by_model: dearestFirst(
    [...Map.groupBy(rows, ({ model }) => model)].map(([model, of]) => ({ model, ...figuresOf(of) }))
  ),
  by_key: dearestFirst(
    [...Map.groupBy(rows, ({ keyId }) => keyId)].map(([keyId, of]) => ({
      key_id: keyId,
      name: names.get(keyId) ?? null,
      ...figuresOf(of)
    }))
  )
})
