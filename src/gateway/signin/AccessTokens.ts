/**
 * Access tokens: JWTs that name a user and a session, valid for some minutes. A token only proves
 * that it was issued. SessionTokens checks on each use that its session is still live.
 */
import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import type { JWK } from "jose"
import { type GatewayError } from "../../domain/Errors.ts"
import { isId } from "../../domain/Ids.ts"
import { jose, SigningKeys } from "./SigningKeys.ts"

export interface AccessTokensOptions {
  /** Issuer and audience of the tokens. */
  readonly issuer: string
  readonly lifetimeSeconds: number
}

export interface AccessClaims {
  readonly userId: string
  readonly sessionId: string
}

/**
 * The type of RFC 9068, so that any other JWT that these keys may sign is not accepted as an access
 * token.
 */
const TYPE = "at+jwt"
const ALGORITHM = "EdDSA"

export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    readonly issue: (claims: AccessClaims) => Effect.Effect<Redacted.Redacted, GatewayError>
    /**
     * The claims of a token if it was issued here and has not expired; none otherwise, for any
     * reason.
     */
    readonly verify: (token: string) => Effect.Effect<Option.Option<AccessClaims>, GatewayError>
    /** The public keys, for other verifiers. */
    readonly keySet: Effect.Effect<{ readonly keys: ReadonlyArray<JWK> }, GatewayError>
    readonly lifetimeSeconds: number
  }
>()("tollgate/gateway/signin/AccessTokens") {
  static readonly layer = ({ issuer, lifetimeSeconds }: AccessTokensOptions) =>
    Layer.effect(
      AccessTokens,
      Effect.gen(function* () {
        const keys = yield* SigningKeys

        const issue = Effect.fn("AccessTokens.issue")(function* ({ sessionId, userId }: AccessClaims) {
          const { SignJWT } = yield* jose
          const { kid, privateKey } = yield* keys.current
          const nowSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
          const token = yield* Effect.promise(() =>
            new SignJWT({ sid: sessionId })
              .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
              .setIssuer(issuer)
              .setAudience(issuer)
              .setSubject(userId)
              .setIssuedAt(nowSeconds)
              .setExpirationTime(nowSeconds + lifetimeSeconds)
              .sign(privateKey)
          )
          return Redacted.make(token)
        })

        const verify = Effect.fn("AccessTokens.verify")(function* (token: string) {
          const { decodeProtectedHeader, jwtVerify } = yield* jose
          const header = yield* Effect.option(Effect.try({ try: () => decodeProtectedHeader(token), catch: String }))
          if (Option.isNone(header)) return Option.none()
          const key = (yield* keys.published).find(({ kid }) => kid === header.value.kid)
          if (key === undefined) return Option.none()
          const nowMs = yield* Clock.currentTimeMillis
          const verified = yield* Effect.option(
            Effect.tryPromise({
              try: () =>
                jwtVerify(token, key.publicKey, {
                  issuer,
                  audience: issuer,
                  algorithms: [ALGORITHM],
                  typ: TYPE,
                  currentDate: new Date(nowMs),
                  requiredClaims: ["exp", "sub", "sid"]
                }),
              catch: String
            })
          )
          if (Option.isNone(verified)) return Option.none()
          const { sid, sub } = verified.value.payload
          return typeof sid === "string" && typeof sub === "string" && isId("ses", sid) && isId("usr", sub)
            ? Option.some({ userId: sub, sessionId: sid })
            : Option.none()
        })

        return {
          issue,
          verify,
          keySet: Effect.map(keys.published, (published) => ({ keys: published.map(({ publicJwk }) => publicJwk) })),
          lifetimeSeconds
        }
      })
    )
}
