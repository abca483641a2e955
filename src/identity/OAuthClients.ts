/**
 * OAuth clients based on `openid-client`: OIDC issuers by discovery, GitHub with fixed addresses. A
 * client is created on first use, so that an unavailable issuer does not affect others, and cached
 * for an hour, so that its keys and addresses may change. An ID token needs a valid signature by a
 * published key of the issuer, even though it comes directly from the issuer.
 */
import { Cache, Clock, Duration, Effect, Redacted, Schema } from "effect"
import type { Configuration } from "openid-client"
import { Outbound } from "../providers/transport/Outbound.ts"
import { githubIdentity, githubServer } from "./GitHub.ts"
import { type ExternalIdentity, IdentityError, type OAuthClients } from "./ExternalIdentity.ts"
import type { IdentityProviders } from "./IdentityProviders.ts"
import { makeFetch, OutboundFailed } from "./OutboundFetch.ts"

const CLIENT_TTL = Duration.hours(1)
const GOOGLE = "https://accounts.google.com"

/**
 * Accepted age of an ID token. Some issuers date it five minutes back, for clients with slow
 * clocks.
 */
const ISSUED_WITHIN_MS = { past: 600_000, future: 300_000 }

const IdToken = Schema.Struct({ iat: Schema.Finite, azp: Schema.optionalKey(Schema.Unknown) })

const Claims = Schema.Struct({
  sub: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)),
  email: Schema.optionalKey(Schema.Unknown),
  /** Some providers send it as text. */
  email_verified: Schema.optionalKey(Schema.Unknown)
})

const identityOf = ({ email, email_verified, sub }: typeof Claims.Type): ExternalIdentity => ({
  subject: sub,
  email: typeof email === "string" && (email_verified === true || email_verified === "true") ? email : null
})

export const makeIdentityProviders = Effect.fnUntraced(function* (
  clients: OAuthClients
): Effect.fn.Return<IdentityProviders["Service"], never, Outbound> {
  const outbound = yield* Outbound
  const fetchOutbound = yield* makeFetch
  const library = yield* Effect.cached(Effect.promise(() => import("openid-client")))

  const attempt = <A>(provider: string, run: () => Promise<A>) =>
    Effect.tryPromise({ try: run, catch: (cause) => errorOf(provider, cause) })

  const configure = Effect.fnUntraced(function* (provider: string) {
    const client = clients[provider]
    if (client === undefined) return yield* Effect.die(new Error(`there is no identity provider ${provider}`))
    const { clientId, issuer } = client
    const openid = yield* library
    const secret = Redacted.value(client.clientSecret)
    if (provider === "github") {
      const authenticate = openid.ClientSecretPost(secret)
      const configuration = new openid.Configuration(githubServer(issuer), clientId, undefined, authenticate)
      configuration[openid.customFetch] = fetchOutbound
      if (issuer?.startsWith("http:") === true) openid.allowInsecureRequests(configuration)
      return configuration
    }
    const server = new URL(issuer ?? GOOGLE)
    return yield* attempt(provider, () =>
      openid.discovery(server, clientId, secret, undefined, {
        [openid.customFetch]: fetchOutbound,
        execute: [
          // Rejects `none` and all HS algorithms, whatever the issuer's metadata lists.
          openid.enableNonRepudiationChecks,
          ...(server.protocol === "http:" ? [openid.allowInsecureRequests] : [])
        ]
      })
    )
  })
  const configurations = yield* Cache.makeWith(configure, {
    capacity: 64,
    timeToLive: (exit) => (exit._tag === "Success" ? CLIENT_TTL : Duration.zero)
  })

  /** The claims of the ID token. If it has no address, the claims of the userinfo endpoint. */
  const openIdIdentity = Effect.fnUntraced(function* (
    provider: string,
    configuration: Configuration,
    claims: unknown,
    accessToken: string
  ) {
    const { fetchUserInfo } = yield* library
    const refused = (problem: string) => new IdentityError({ provider, kind: "refused", problem })
    const checked = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, value: unknown) =>
      Effect.mapError(Schema.decodeUnknownEffect(schema)(value), () => refused("no usable claims"))
    const identityClaims = yield* checked(Claims, claims)
    const { azp, iat } = yield* checked(IdToken, claims)
    const ageMs = (yield* Clock.currentTimeMillis) - iat * 1000
    if (ageMs > ISSUED_WITHIN_MS.past || ageMs < -ISSUED_WITHIN_MS.future) {
      return yield* refused("the ID token was not issued recently")
    }
    // The library checks it only if there are several audiences.
    if (azp !== undefined && azp !== clients[provider]?.clientId)
      return yield* refused("the ID token is another client's")
    if (identityClaims.email !== undefined || configuration.serverMetadata().userinfo_endpoint === undefined) {
      return identityOf(identityClaims)
    }
    const userInfo = yield* attempt(provider, () => fetchUserInfo(configuration, accessToken, identityClaims.sub))
    return identityOf(yield* checked(Claims, userInfo))
  })

  return {
    names: Object.keys(clients),

    authorizationUrl: Effect.fn("IdentityProviders.authorizationUrl")(function* (provider, redirectUri, secrets) {
      const configuration = yield* Cache.get(configurations, provider)
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = yield* library
      const challenge = yield* attempt(provider, () => calculatePKCECodeChallenge(secrets.verifier))
      return buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: provider === "github" ? "read:user user:email" : "openid email",
        state: secrets.state,
        code_challenge: challenge,
        code_challenge_method: "S256",
        ...(provider === "github" ? {} : { nonce: secrets.nonce })
      }).href
    }),

    identify: Effect.fn("IdentityProviders.identify")(function* (provider, callbackUrl, { nonce, state, verifier }) {
      const configuration = yield* Cache.get(configurations, provider)
      const { authorizationCodeGrant } = yield* library
      const isGitHub = provider === "github"
      const returned = new URL(callbackUrl)
      // GitHub's `iss` differs from its configured address. The flow's state already ties the
      // answer to GitHub.
      if (isGitHub) returned.searchParams.delete("iss")
      const tokens = yield* attempt(provider, () =>
        authorizationCodeGrant(configuration, returned, {
          expectedState: state,
          pkceCodeVerifier: verifier,
          ...(isGitHub ? {} : { expectedNonce: nonce, idTokenExpected: true })
        })
      )
      return yield* isGitHub
        ? githubIdentity(outbound, clients[provider]?.issuer ?? null, tokens.access_token)
        : openIdIdentity(provider, configuration, tokens.claims(), tokens.access_token)
    })
  } satisfies IdentityProviders["Service"]
})

/**
 * Maps an error of the library. Only its code is kept, because messages may contain the provider's
 * answer.
 */
const errorOf = (provider: string, cause: unknown): IdentityError => {
  const failed = outboundFailure(cause)
  if (failed !== null) return new IdentityError({ provider, kind: "unavailable", problem: failed.problem })
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "unknown"
  return new IdentityError({ provider, kind: "refused", problem: code })
}

const outboundFailure = (cause: unknown): OutboundFailed | null => {
  if (cause instanceof OutboundFailed) return cause
  return cause instanceof Error && cause.cause !== undefined ? outboundFailure(cause.cause) : null
}
