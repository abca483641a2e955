/**
 * Authentication middleware: an API key in either header, a signed-in user, or an admin.
 * http/auth/Authorization implements it.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { type KeyRecord, type RateLimits, type Scope } from "../domain/Key.ts"
import { type SessionRecord, type UserRecord } from "../domain/User.ts"
import { errors } from "./Failure.ts"

/** The request's key and its limits. */
export class CurrentKey extends Context.Service<CurrentKey, { readonly key: KeyRecord; readonly limits: RateLimits }>()(
  "tollgate/api/CurrentKey"
) {}

/** The scope that a key needs before its request's body is read. Null: any key will do. */
export const RequiredScope = Context.Reference<Scope | null>("tollgate/api/RequiredScope", { defaultValue: () => null })

/**
 * An API key: `authorization: Bearer <key>`, or `x-api-key`. If both are sent, the bearer token
 * wins.
 */
export const apiKeySecurity = {
  bearer: HttpApiSecurity.bearer,
  apiKey: HttpApiSecurity.apiKey({ key: "x-api-key", in: "header" })
}

/** Lets in callers with an API key. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: CurrentKey }>()(
  "tollgate/api/Authorization",
  {
    security: apiKeySecurity,
    error: errors(401, 503)
  }
) {}

/** The user of the access token, and its session. */
export class CurrentUser extends Context.Service<
  CurrentUser,
  { readonly user: UserRecord; readonly session: SessionRecord }
>()("tollgate/api/CurrentUser") {}

/** A user's access token: `authorization: Bearer <token>`. */
export class SessionAuthorization extends HttpApiMiddleware.Service<SessionAuthorization, { provides: CurrentUser }>()(
  "tollgate/api/SessionAuthorization",
  {
    security: { session: HttpApiSecurity.bearer },
    error: errors(401, 503)
  }
) {}

/**
 * The admin key in `x-admin-key`, or the access token of an admin. If both are sent, the key wins.
 */
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
