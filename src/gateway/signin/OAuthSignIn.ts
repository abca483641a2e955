/**
 * Sign-in by an identity provider. A flow belongs to one provider and one browser, lasts ten
 * minutes, and ends at the first return, whatever the result. Its state, nonce and PKCE verifier
 * never leave together. Afterwards the browser is only redirected to targets that the settings
 * allow.
 */
import { Clock, Context, Effect, Layer, Option, type Result } from "effect"
import { randomBytes } from "node:crypto"
import {
  DependencyUnavailable,
  gatewayError,
  type GatewayError,
  OAuthRefused,
  UnknownSignInMethod
} from "../../domain/Errors.ts"
import { IdentityProviders } from "../../identity/IdentityProviders.ts"
import { Challenges, type OAuthFlow } from "../../store/people/Challenges.ts"
import { AccountLinking } from "./AccountLinking.ts"
import { destinationOf } from "./Destination.ts"
import { AuditLog } from "../telemetry/Audit.ts"
import { sameHash } from "../keys/KeySecret.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { HmacKey } from "./HmacKey.ts"
import { SessionTokens, type TokenPair } from "./SessionTokens.ts"
import { SignInLimits } from "./SignInLimits.ts"

export interface FlowStarted {
  readonly authorizationUrl: string
  readonly state: string
  /** Stored by the browser that started the flow, and required at the return. */
  readonly browserSecret: string
  readonly expiresInSeconds: number
}

export interface FlowEnded {
  /** The redirect target of the flow, or null when the browser named none. */
  readonly redirectTo: string | null
  /**
   * Contains the failure of a sign-in whose flow was valid, because its redirect target is then
   * still valid.
   */
  readonly result: Result.Result<TokenPair, GatewayError>
}

const LIFETIME_SECONDS = 600
const STARTS_PER_ADDRESS_MINUTE = 30

const random = (): string => randomBytes(32).toString("base64url")

export interface OAuthSignInOptions {
  /** The allowed redirect targets after a sign-in: URLs, or paths on this gateway. */
  readonly redirects: ReadonlyArray<string>
}

export class OAuthSignIn extends Context.Service<
  OAuthSignIn,
  {
    /** `returnUrl` is where the provider sends the browser back to; it differs per provider. */
    readonly start: (options: {
      readonly provider: string
      readonly redirectTo: string | null
      readonly returnUrl: string
      readonly address: string
    }) => Effect.Effect<FlowStarted, GatewayError>
    /**
     * Completes a flow. `returned` is `returnUrl` with the query that the provider added, and
     * `browserSecrets` are all secrets that the browser holds. `refreshToken` is the browser's
     * session: linking a new provider to an admin who has signed in before requires that admin's
     * own session.
     */
    readonly finish: (options: {
      readonly provider: string
      readonly returned: URL
      readonly browserSecrets: ReadonlyArray<string>
      readonly refreshToken: string | null
      readonly userAgent: string | null
    }) => Effect.Effect<FlowEnded, GatewayError>
  }
>()("tollgate/gateway/signin/OAuthSignIn") {
  static readonly layer = ({ redirects }: OAuthSignInOptions) =>
    Layer.effect(
      OAuthSignIn,
      Effect.gen(function* () {
        const { auditRefusedCredential } = yield* AuditLog
        const providers = yield* IdentityProviders
        const challenges = yield* Challenges
        const accountLinking = yield* AccountLinking
        const sessions = yield* SessionTokens
        const rates = yield* SignInLimits
        const hmacKey = yield* HmacKey

        const requireKnown = Effect.fnUntraced(function* (provider: string) {
          if (!providers.names.includes(provider)) {
            return yield* gatewayError(
              new UnknownSignInMethod({ param: "provider", sent: provider, known: providers.names })
            )
          }
        })

        const start = Effect.fn("OAuthSignIn.start")(function* ({
          address,
          provider,
          redirectTo,
          returnUrl
        }: {
          readonly provider: string
          readonly redirectTo: string | null
          readonly returnUrl: string
          readonly address: string
        }) {
          yield* requireKnown(provider)
          if (redirectTo !== null && !redirects.includes(redirectTo)) {
            return yield* gatewayError(new OAuthRefused({ fault: "redirect_not_allowed" }))
          }
          yield* rates.byAddress("oauth", address, STARTS_PER_ADDRESS_MINUTE)
          const nowMs = yield* Clock.currentTimeMillis
          const [state, nonce, verifier, browserSecret] = [random(), random(), random(), random()]
          const authorizationUrl = yield* Effect.mapError(
            providers.authorizationUrl(provider, returnUrl, { state, nonce, verifier }),
            () => unavailable
          )
          yield* orUnavailable(
            challenges.openFlow({
              stateHash: yield* hmacKey.hash("state", state),
              browserHash: yield* hmacKey.hash("browser", browserSecret),
              provider,
              nonce,
              verifier,
              redirectTo,
              expiresAtMs: nowMs + LIFETIME_SECONDS * 1000
            })
          )
          return { authorizationUrl, state, browserSecret, expiresInSeconds: LIFETIME_SECONDS } satisfies FlowStarted
        })

        /**
         * Takes the flow of a return. A state of another provider or another browser is invalid.
         */
        const take = Effect.fnUntraced(function* (
          provider: string,
          state: string,
          browserSecrets: ReadonlyArray<string>
        ) {
          const nowMs = yield* Clock.currentTimeMillis
          const flow = yield* orUnavailable(challenges.takeFlow(yield* hmacKey.hash("state", state), nowMs))
          const hashes = yield* Effect.forEach(browserSecrets, (secret) => hmacKey.hash("browser", secret))
          if (Option.isNone(flow) || flow.value.provider !== provider) return yield* invalidState
          if (!hashes.some((hash) => sameHash(hash, flow.value.browserHash))) return yield* invalidState
          return flow.value
        })

        const signIn = Effect.fnUntraced(function* (
          { nonce, provider, verifier }: OAuthFlow,
          returned: URL,
          state: string,
          refreshToken: string | null,
          userAgent: string | null
        ) {
          if (returned.searchParams.has("error")) return yield* gatewayError(new OAuthRefused({ fault: "denied" }))
          const { email: verified, subject } = yield* providers
            .identify(provider, returned, { state, nonce, verifier })
            .pipe(
              Effect.tapError((error) => Effect.logWarning(`a sign-in was not completed: ${error.message}`)),
              Effect.mapError((error) =>
                error.kind === "unavailable" ? unavailable : gatewayError(new OAuthRefused({ fault: "not_proved" }))
              )
            )
          // Normalised like the destinations of codes, or dropped: an address that only looks like
          // another user's is never linked.
          const email = verified === null ? null : Option.getOrNull(destinationOf("email", verified))
          const sessionOf = refreshToken === null ? null : Option.getOrNull(yield* sessions.holder(refreshToken))
          const user = yield* accountLinking.linkOrCreateUser({ provider, subject, email, phone: null, sessionOf })
          return yield* sessions.begin({ user, signedInBy: provider, userAgent })
        })

        const finish = Effect.fn("OAuthSignIn.finish")(function* ({
          browserSecrets,
          provider,
          refreshToken,
          returned,
          userAgent
        }: {
          readonly provider: string
          readonly returned: URL
          readonly browserSecrets: ReadonlyArray<string>
          readonly refreshToken: string | null
          readonly userAgent: string | null
        }) {
          yield* requireKnown(provider)
          const state = returned.searchParams.get("state") ?? ""
          const seen = auditRefusedCredential("identity_provider")
          const flow = yield* seen(take(provider, state, browserSecrets))
          const result = yield* Effect.result(seen(signIn(flow, returned, state, refreshToken, userAgent)))
          return { redirectTo: flow.redirectTo, result } satisfies FlowEnded
        })

        return OAuthSignIn.of({ start, finish })
      })
    )
}

const invalidState = Effect.fail(gatewayError(new OAuthRefused({ fault: "invalid_state" })))

const unavailable = gatewayError(new DependencyUnavailable({ dependency: "identity_provider" }))
