/**
 * The endpoints of signing in. Tokens are sent with `cache-control: no-store`. A refresh token that
 * came in the cookie is returned in the cookie only, so that scripts never see it. A browser's
 * request from another site that would change a session is refused.
 */
import { Effect, Redacted, Result } from "effect"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { type Tokens } from "../../api/signin/Auth.ts"
import { ForeignSite, gatewayError, type GatewayError, NotFound, SignInRefused } from "../../domain/Errors.ts"
import { AccessTokens } from "../../gateway/signin/AccessTokens.ts"
import { CodeMailbox } from "../../gateway/signin/CodeMailbox.ts"
import { ConsoleLink } from "../../gateway/signin/ConsoleLink.ts"
import { CodeSignIn } from "../../gateway/signin/CodeSignIn.ts"
import { UserAdmin } from "../../gateway/signin/UserAdmin.ts"
import { OAuthSignIn } from "../../gateway/signin/OAuthSignIn.ts"
import { SessionTokens, type TokenPair } from "../../gateway/signin/SessionTokens.ts"
import { asActor } from "../auth/ActorContext.ts"
import { clientAddress, isLocal } from "../auth/ClientAddress.ts"
import { guard } from "../errors/ErrorResponse.ts"
import { userWire } from "./Me.ts"
import { isOwnSite } from "../auth/OwnSite.ts"
import * as SignInCookies from "../auth/SignInCookies.ts"
import { wireOf } from "../errors/WireErrors.ts"

const noStore = { "cache-control": "no-store" }

/** Where the refresh token is returned. */
interface Carriers {
  readonly body: boolean
  readonly cookie: boolean
}

export interface AuthRoutesOptions {
  /** The public address of this gateway; null: the address it listens on. */
  readonly issuer: string | null
  /** Networks whose `X-Forwarded-For` is trusted, in CIDR notation. */
  readonly trustedProxies: ReadonlyArray<string>
  /** Days after which an unused session ends. */
  readonly sessionDays: number
}

/** `adminKey` is what the one-time link of a start opens the console with. */
export const layer = (auth: AuthRoutesOptions, adminKey: Redacted.Redacted) =>
  HttpApiBuilder.group(
    Api,
    "auth",
    Effect.fnUntraced(function* (handlers) {
      const codes = yield* CodeSignIn
      const flows = yield* OAuthSignIn
      const sessions = yield* SessionTokens
      const userAdmin = yield* UserAdmin
      const tokens = yield* AccessTokens
      const mailbox = yield* CodeMailbox
      const link = yield* ConsoleLink
      const publicUrl = auth.issuer ?? urlOf(yield* HttpServer.HttpServer)
      const cookieSeconds = auth.sessionDays * 86_400
      const run = <A, R>(handler: Effect.Effect<A, GatewayError, R>) => guard(asActor(handler, "nobody", null))

      const ownRequest = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        isOwnSite(request, publicUrl) ? Effect.succeed(request) : Effect.fail(gatewayError(new ForeignSite()))
      )

      const answer = Effect.fnUntraced(function* (pair: TokenPair, carriers: Carriers) {
        const refreshToken = Redacted.value(pair.refreshToken)
        const body: Tokens = {
          access_token: Redacted.value(pair.accessToken),
          token_type: "bearer",
          expires_in: pair.expiresInSeconds,
          refresh_token: carriers.body ? refreshToken : null,
          user: userWire(yield* userAdmin.get(pair.user.id))
        }
        const response = HttpServerResponse.jsonUnsafe(body, { headers: noStore })
        return carriers.cookie ? SignInCookies.setRefreshCookie(response, refreshToken, cookieSeconds) : response
      })

      /**
       * Responds to an ended flow: redirects the browser to its target, or returns the tokens or
       * the error.
       */
      const ended = Effect.fnUntraced(function* (
        redirectTo: string | null,
        result: Result.Result<TokenPair, GatewayError>
      ) {
        if (redirectTo === null) return yield* answer(yield* Effect.fromResult(result), { body: true, cookie: true })
        if (Result.isFailure(result))
          return HttpServerResponse.redirect(failedAt(redirectTo, result.failure), { headers: noStore })
        return SignInCookies.setRefreshCookie(
          HttpServerResponse.redirect(redirectTo, { headers: noStore }),
          Redacted.value(result.success.refreshToken),
          cookieSeconds
        )
      })

      const returnUrl = (provider: string): string => `${publicUrl}/auth/oauth/${provider}/callback`

      return handlers.handleAll({
        start: ({ params, payload }) =>
          run(
            Effect.gen(function* () {
              const request = yield* ownRequest
              const started = yield* codes.start({
                channel: params.channel,
                destination: (params.channel === "email" ? payload.email : payload.phone) ?? undefined,
                address: clientAddress(request)
              })
              return {
                challenge_id: started.challengeId,
                channel: started.channel,
                expires_in: started.expiresInSeconds,
                resend_after: started.resendAfterSeconds,
                masked_destination: started.maskedDestination
              }
            })
          ),

        verify: ({ params, payload }) =>
          run(
            Effect.gen(function* () {
              const request = yield* ownRequest
              const pair = yield* codes.verify({
                channel: params.channel,
                challengeId: payload.challenge_id,
                code: payload.code,
                address: clientAddress(request),
                userAgent: request.headers["user-agent"] ?? null
              })
              const only = payload.refresh_token_in
              return yield* answer(pair, { body: only !== "cookie", cookie: only !== "body" })
            })
          ),

        refresh: ({ payload }) =>
          run(
            Effect.gen(function* () {
              const request = yield* ownRequest
              const [given, kept] = [payload?.refresh_token ?? null, SignInCookies.refreshCookie(request.cookies)]
              const pair = yield* sessions.refresh(given ?? kept ?? "")
              // A client that sent the same token both ways gets the new one both ways.
              return yield* answer(pair, { body: given !== null, cookie: given === null || given === kept })
            })
          ),

        logout: ({ payload }) =>
          run(
            Effect.gen(function* () {
              const request = yield* ownRequest
              const [given, kept] = [payload?.refresh_token ?? null, SignInCookies.refreshCookie(request.cookies)]
              for (const token of new Set([given, kept])) if (token !== null) yield* sessions.end(token)
              const response = HttpServerResponse.jsonUnsafe({ ok: true }, { headers: noStore })
              return kept === null ? response : SignInCookies.clearRefreshCookie(response)
            })
          ),

        authorize: ({ params, query }) =>
          run(
            Effect.gen(function* () {
              const request = yield* HttpServerRequest.HttpServerRequest
              const { authorizationUrl, browserSecret, expiresInSeconds, state } = yield* flows.start({
                provider: params.provider,
                redirectTo: query.redirect_to ?? null,
                returnUrl: returnUrl(params.provider),
                address: clientAddress(request)
              })
              const asJson = (request.headers["accept"] ?? "").includes("application/json")
              const response = asJson
                ? HttpServerResponse.jsonUnsafe(
                    { authorization_url: authorizationUrl, expires_in: expiresInSeconds },
                    { headers: noStore }
                  )
                : HttpServerResponse.redirect(authorizationUrl, { headers: noStore })
              return SignInCookies.setFlowCookie(response, state, browserSecret, expiresInSeconds)
            })
          ),

        callback: ({ params }) =>
          run(
            Effect.gen(function* () {
              const request = yield* HttpServerRequest.HttpServerRequest
              const at = request.url.indexOf("?")
              const returned = new URL(returnUrl(params.provider) + (at < 0 ? "" : request.url.slice(at)))
              const { redirectTo, result } = yield* flows.finish({
                provider: params.provider,
                returned,
                browserSecrets: SignInCookies.flowSecrets(request.cookies),
                refreshToken: SignInCookies.refreshCookie(request.cookies),
                userAgent: request.headers["user-agent"] ?? null
              })
              const response = yield* guard(ended(redirectTo, result))
              return SignInCookies.clearFlowCookie(response, returned.searchParams.get("state") ?? "")
            })
          ),

        mailbox: () =>
          run(
            Effect.gen(function* () {
              const request = yield* HttpServerRequest.HttpServerRequest
              if (mailbox.read === null || !isLocal(request)) {
                return yield* gatewayError(new NotFound({ what: "route", id: "GET /auth/dev/mailbox" }))
              }
              const letters = (yield* mailbox.read).map(({ channel, code, destination, sentAtMs }) => ({
                channel,
                destination,
                code,
                sent_at: new Date(sentAtMs).toISOString()
              }))
              return HttpServerResponse.jsonUnsafe({ object: "list", data: letters }, { headers: noStore })
            })
          ),

        consoleLink: ({ payload }) =>
          run(
            Effect.gen(function* () {
              const request = yield* ownRequest
              if (!(yield* link.isOffered) || !isLocal(request)) {
                return yield* gatewayError(new NotFound({ what: "route", id: "POST /auth/dev/console" }))
              }
              if (!(yield* link.redeem(payload.token))) {
                return yield* gatewayError(new SignInRefused({ what: "console_link" }))
              }
              return HttpServerResponse.jsonUnsafe({ admin_key: Redacted.value(adminKey) }, { headers: noStore })
            })
          ),

        keySet: () =>
          guard(
            Effect.map(tokens.keySet, (keySet) =>
              HttpServerResponse.jsonUnsafe(keySet, { headers: { "cache-control": "public, max-age=300" } })
            )
          )
      })
    })
  )

/** The redirect target with the code of the error. */
const failedAt = (redirectTo: string, failure: GatewayError): string =>
  `${redirectTo}${redirectTo.includes("?") ? "&" : "?"}error=sign_in_failed&error_code=${wireOf(failure.reason).code}`

/** The address of a server without a public address, as seen from its own machine. */
const urlOf = ({ address }: HttpServer.HttpServer["Service"]): string =>
  HttpServer.formatAddress(address).replace(/\/\/(?:0\.0\.0\.0|\[::\])/, "//localhost")
