/** What a request that may be sent again says of itself: the name in its header, and the secret by which its reply is kept. */
import { Effect, Redacted } from "effect"
import { type Headers } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import { type SentKey } from "../gateway/Idempotency.ts"

const bearer = HttpApiBuilder.securityDecode(HttpApiSecurity.bearer)

/** Null without the header. The request has been authorized, so one of its two carriers holds a valid secret: the bearer if it is there. */
export const sentKey = (
  headers: Headers.Headers
): Effect.Effect<SentKey | null, never, Effect.Services<typeof bearer>> => {
  const name = headers["idempotency-key"]
  return name === undefined
    ? Effect.succeed(null)
    : Effect.map(bearer, (token) => ({
        name,
        secret: Redacted.value(token) === "" ? Redacted.make(headers["x-api-key"] ?? "") : token
      }))
}
