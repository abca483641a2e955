/**
 * GitHub supports OAuth but not OpenID Connect, so its addresses are fixed here and the identity is
 * read from its API. The e-mail address is the primary one, if GitHub verified it.
 */
import { Effect, Schema } from "effect"
import { type Outbound } from "../providers/transport/Outbound.ts"
import { type ExternalIdentity, IdentityError } from "./ExternalIdentity.ts"

const TIMEOUT_MS = 10_000

/** `base`: address of a GitHub Enterprise Server; `null`: github.com. */
export const githubServer = (base: string | null) => ({
  issuer: base ?? "https://github.com",
  authorization_endpoint: `${base ?? "https://github.com"}/login/oauth/authorize`,
  token_endpoint: `${base ?? "https://github.com"}/login/oauth/access_token`
})

const User = Schema.Struct({ id: Schema.Int })
const Emails = Schema.Array(Schema.Struct({ email: Schema.String, primary: Schema.Boolean, verified: Schema.Boolean }))

export const githubIdentity = Effect.fnUntraced(function* (
  outbound: Outbound["Service"],
  base: string | null,
  accessToken: string
) {
  const api = base === null ? "https://api.github.com" : `${base}/api/v3`
  const fail = (kind: "refused" | "unavailable", problem: string) =>
    new IdentityError({ provider: "github", kind, problem })
  const headers = {
    accept: "application/vnd.github+json",
    authorization: `Bearer ${accessToken}`,
    "x-github-api-version": "2022-11-28"
  }

  const read = Effect.fnUntraced(function* <S extends Schema.ConstraintDecoder<unknown>>(path: string, schema: S) {
    const { status, text } = yield* outbound
      .call({ method: "GET", url: new URL(api + path), headers, body: null, timeoutMs: TIMEOUT_MS })
      .pipe(Effect.mapError(({ _tag }) => fail("unavailable", _tag)))
    if (status !== 200) return yield* fail(status >= 500 ? "unavailable" : "refused", `status ${status}`)
    return yield* Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text).pipe(
      Effect.mapError(() => fail("refused", "no usable answer"))
    )
  })

  const { id } = yield* read("/user", User)
  const emails = yield* read("/user/emails", Emails)
  const primary = emails.find((one) => one.primary && one.verified)
  return { subject: String(id), email: primary?.email ?? null } satisfies ExternalIdentity
})
