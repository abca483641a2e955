/** The endpoints of a signed-in user's account: the user and their sessions. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { type User } from "../../api/signin/Auth.ts"
import { CurrentUser } from "../../api/Authorization.ts"
import { type UserView, UserAdmin } from "../../gateway/signin/UserAdmin.ts"
import { SessionTokens } from "../../gateway/signin/SessionTokens.ts"
import { guard } from "../errors/ErrorResponse.ts"

const iso = (ms: number): string => new Date(ms).toISOString()

export const userWire = ({ identities, user }: UserView): User => ({
  id: user.id,
  email: user.email,
  phone: user.phone,
  role: user.role,
  created_at: iso(user.createdAtMs),
  last_sign_in_at: user.lastSignInAtMs === null ? null : iso(user.lastSignInAtMs),
  identities: identities.map(({ createdAtMs, email, provider, subject }) => ({
    provider,
    subject,
    email,
    created_at: iso(createdAtMs)
  }))
})

export const layer = HttpApiBuilder.group(
  Api,
  "me",
  Effect.fnUntraced(function* (handlers) {
    const userAdmin = yield* UserAdmin
    const sessions = yield* SessionTokens
    return handlers.handleAll({
      read: () => guard(Effect.flatMap(CurrentUser, ({ user }) => Effect.map(userAdmin.get(user.id), userWire))),
      sessions: () =>
        guard(
          Effect.flatMap(CurrentUser, ({ session, user }) =>
            Effect.map(sessions.list(user.id), (found) => ({
              object: "list" as const,
              data: found.map((one) => ({
                id: one.id,
                created_at: iso(one.createdAtMs),
                last_used_at: iso(one.lastUsedAtMs),
                expires_at: iso(one.expiresAtMs),
                signed_in_by: one.signedInBy,
                user_agent: one.userAgent,
                current: one.id === session.id
              }))
            }))
          )
        ),
      revoke: ({ params }) =>
        guard(
          Effect.flatMap(CurrentUser, ({ user }) =>
            Effect.as(sessions.revoke(user.id, params.session_id), { ok: true as const })
          )
        )
    })
  })
)
