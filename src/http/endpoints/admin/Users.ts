/** The admin's endpoints of users. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import { type Account } from "../../../api/signin/Users.ts"
import { monthEndMs, nanoFromUsd, usdFromNano } from "../../../domain/pricing/Money.ts"
import { UserAdmin, type UserFigures, type UserView } from "../../../gateway/signin/UserAdmin.ts"
import { Portal } from "../../../gateway/signin/Portal.ts"
import { guard } from "../../errors/ErrorResponse.ts"

const iso = (ms: number): string => new Date(ms).toISOString()

const accountWire = ({ keys, nowMs, reservedNano, spentNano, user }: UserFigures): Account => ({
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
  keys,
  usage: {
    month_spent_usd: usdFromNano(spentNano),
    month_reserved_usd: usdFromNano(reservedNano),
    month_remaining_usd:
      user.grants.monthlyBudgetNano === null
        ? null
        : usdFromNano(Math.max(0, user.grants.monthlyBudgetNano - spentNano - reservedNano)),
    resets_at: iso(monthEndMs(nowMs))
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
    const accountOf = Effect.fnUntraced(function* ({ user }: UserView) {
      const [found] = yield* userAdmin.figures([user])
      return found === undefined ? yield* Effect.die("the figures of one user are one entry") : accountWire(found)
    })
    return handlers.handleAll({
      list: ({ query }) =>
        guard(
          Effect.map(
            userAdmin.list({
              limit: query.limit,
              cursor: query.cursor ?? null,
              ...(query.email === undefined ? {} : { email: query.email.trim().toLowerCase() }),
              ...(query.search === undefined ? {} : { search: query.search.trim().toLowerCase() }),
              sort: query.sort,
              ...(query.order === undefined ? {} : { isReversed: (query.order === "asc") !== (query.sort === "name") })
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
      get: ({ params }) => guard(Effect.flatMap(userAdmin.get(params.user_id), accountOf)),
      grant: ({ payload }) => guard(Effect.flatMap(userAdmin.grantAdmin(payload.email), accountOf)),
      update: ({ params, payload: { grants, role, status } }) =>
        guard(
          Effect.gen(function* () {
            const budget = grants?.monthly_budget_usd
            const changed = yield* userAdmin.change(params.user_id, {
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
            if (grants !== undefined) yield* portal.enforceGrants(changed.user.id)
            return yield* accountOf(changed)
          })
        )
    })
  })
)
