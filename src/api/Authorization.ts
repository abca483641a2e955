/** Who may call: an API key by either carrier, or the admin key. The middleware are implemented in http/Authorization. */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { type KeyRecord, type RateLimits } from "../domain/Key.ts"
import { errors } from "./Failure.ts"

/** The key that the request came with, and its limits. */
export class CurrentKey extends Context.Service<CurrentKey, { readonly key: KeyRecord; readonly limits: RateLimits }>()(
  "tollgate/api/CurrentKey"
) {}

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

/** The admin key, in `x-admin-key`. */
export class AdminAuthorization extends HttpApiMiddleware.Service<AdminAuthorization>()(
  "tollgate/api/AdminAuthorization",
  {
    security: { adminKey: HttpApiSecurity.apiKey({ key: "x-admin-key", in: "header" }) },
    error: errors(401)
  }
) {}
