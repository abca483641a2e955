/** The admin's endpoints of users. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { type Account } from "../../api/signin/Users.ts"
import { nanoFromUsd, usdFromNano } from "../../domain/Money.ts"
import { type UserRecord } from "../../domain/User.ts"
import { UserAdmin } from "../../gateway/signin/UserAdmin.ts"
import { Portal } from "../../gateway/signin/Portal.ts"
import { guard } from "../errors/ErrorResponse.ts"

const iso = (ms: number): string => new Date(ms).toISOString()

const accountWire = (user: UserRecord): Account => ({
  object: "user",
  id: user.id,
  email: user.email,
  phone: user.phone,
  role: user.role,
  status: user.state,
  grants: {
    tier: user.grants.tier,
    monthly_budget_usd: user.grants.monthlyBudgetNano === null ? null : usdFromNano(user.grants.monthlyBudgetNano),
    scopes: user.grants.scopes
  },
  created_at: iso(user.createdAtMs),
  updated_at: iso(user.updatedAtMs),
  last_sign_in_at: user.lastSignInAtMs === null ? null : iso(user.lastSignInAtMs)
})

export const layer = HttpApiBuilder.group(
  Api,
  "users",
  Effect.fnUntraced(function* (handlers) {
    const userAdmin = yield* UserAdmin
    const portal = yield* Portal
    return handlers.handleAll({
      list: ({ query }) =>
        guard(
          Effect.map(
            userAdmin.list({
              limit: query.limit,
              cursor: query.cursor ?? null,
              ...(query.email === undefined ? {} : { email: query.email.trim().toLowerCase() }),
              ...(query.search === undefined ? {} : { search: query.search.trim().toLowerCase() })
            }),
            ({ nextCursor, total, users }) => ({
              object: "list" as const,
              data: users.map(accountWire),
              total,
              has_more: nextCursor !== null,
              next_cursor: nextCursor
            })
          )
        ),
      grant: ({ payload }) => guard(Effect.map(userAdmin.grantAdmin(payload.email), ({ user }) => accountWire(user))),
      update: ({ params, payload: { grants, role, status } }) =>
        guard(
          Effect.gen(function* () {
            const budget = grants?.monthly_budget_usd
            const { user } = yield* userAdmin.change(params.user_id, {
              ...(role === undefined ? {} : { role }),
              ...(status === undefined ? {} : { state: status }),
              ...(grants === undefined
                ? {}
                : {
                    grants: {
                      ...(grants.tier === undefined ? {} : { tier: grants.tier }),
                      ...(grants.scopes === undefined ? {} : { scopes: grants.scopes }),
                      ...(budget === undefined
                        ? {}
                        : { monthlyBudgetNano: budget === null ? null : nanoFromUsd(budget) })
                    }
                  })
            })
            if (grants !== undefined) yield* portal.enforceGrants(user.id)
            return accountWire(user)
          })
        )
    })
  })
)
