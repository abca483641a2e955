/** Who may call: an API key by either carrier, a signed-in user, or an admin. The middleware are implemented in http/auth/Authorization. */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { type KeyRecord, type RateLimits, type Scope } from "../domain/Key.ts"
import { type SessionRecord, type UserRecord } from "../domain/User.ts"
import { errors } from "./Failure.ts"

/** The key that the request came with, and its limits. */
export class CurrentKey extends Context.Service<CurrentKey, { readonly key: KeyRecord; readonly limits: RateLimits }>()(
  "tollgate/api/CurrentKey"
) {}

/** The scope that a key must have before the body of its request is read; null: the endpoint asks for one itself, or for none. */
export const RequiredScope = Context.Reference<Scope | null>("tollgate/api/RequiredScope", { defaultValue: () => null })

/** An API key: `authorization: Bearer <key>`, or `x-api-key`. The bearer wins where both are sent. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: CurrentKey }>()(
  "tollgate/api/Authorization",
  {
    security: {
      bearer: HttpApiSecurity.bearer,
      apiKey: HttpApiSecurity.apiKey({ key: "x-api-key", in: "header" })
    },
    error: errors(401, 503)
  }
) {}

/** The user whom an access token names, and the session that it came in. */
export class CurrentUser extends Context.Service<
  CurrentUser,
  { readonly user: UserRecord; readonly session: SessionRecord }
>()("tollgate/api/CurrentUser") {}

/** An access token of a signed-in user: `authorization: Bearer <token>`. */
export class SessionAuthorization extends HttpApiMiddleware.Service<SessionAuthorization, { provides: CurrentUser }>()(
  "tollgate/api/SessionAuthorization",
  {
    security: { session: HttpApiSecurity.bearer },
    error: errors(401, 503)
  }
) {}

/** The admin key, in `x-admin-key`, or an access token of a user who is an admin. The key counts where both are sent. */
export class AdminAuthorization extends HttpApiMiddleware.Service<AdminAuthorization>()(
  "tollgate/api/AdminAuthorization",
  {
    security: {
      adminKey: HttpApiSecurity.apiKey({ key: "x-admin-key", in: "header" }),
      session: HttpApiSecurity.bearer
    },
    error: errors(401, 403, 429, 503)
  }
) {}
