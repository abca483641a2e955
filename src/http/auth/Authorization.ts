/** Who is calling: turns the credential headers into `CurrentKey` or `CurrentUser`, or lets an admin through. */
import { Context, Effect, identity, Layer, Redacted } from "effect"
import { type Headers, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type HttpApiEndpoint } from "effect/http-api"
import {
  AdminAuthorization,
  Authorization,
  CurrentKey,
  CurrentUser,
  RequiredScope,
  SessionAuthorization
} from "../../api/Authorization.ts"
import {
  AdminRequired,
  AdminUnauthenticated,
  gatewayError,
  type GatewayError,
  ScopeMissing
} from "../../domain/Errors.ts"
import { type Scope } from "../../domain/Key.ts"
import { ApiKeys } from "../../gateway/keys/ApiKeys.ts"
import { refusedCredential } from "../../gateway/telemetry/Audit.ts"
import { sameSecret } from "../../gateway/keys/KeySecret.ts"
import { type Caller } from "../../gateway/request/Order.ts"
import { SignInLimits } from "../../gateway/signin/SignInLimits.ts"
import { SessionTokens } from "../../gateway/signin/SessionTokens.ts"
import { asActor } from "./ActorContext.ts"
import { clientAddress } from "./ClientAddress.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { errorResponse, rejected } from "../errors/ErrorResponse.ts"

/** Answers that a credential opens nothing. What was no credential at all, or could not be looked up, is no news for the trail. */
const refuse = Effect.fnUntraced(function* (error: GatewayError, credential: string, sent: string) {
  const state = yield* CurrentRequest
  rejected(state, error)
  const isNews = sent !== "" && error.reason._tag !== "DependencyUnavailable"
  if (isNews) yield* asActor(Effect.ignore(refusedCredential(credential)(Effect.fail(error))), "nobody", null)
  return errorResponse(error, state.requestId)
})

export const layer = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const apiKeys = yield* ApiKeys

    const admit = Effect.fnUntraced(function* <E, R>(
      httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      credential: string,
      endpoint: HttpApiEndpoint.Top
    ) {
      const scope = Context.get(endpoint.annotations, RequiredScope)
      const found = yield* apiKeys
        .authenticate(credential)
        .pipe(scope === null ? identity : Effect.tap((caller) => withScope(caller, scope)), Effect.result)
      if (found._tag === "Failure") return yield* refuse(found.failure, "api_key", credential)
      return yield* Effect.provideService(httpEffect, CurrentKey, found.success)
    })

    // The schemes are tried in turn until one answers: the first looks at both carriers.
    return Authorization.of({
      bearer: (httpEffect, { endpoint }) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
          admit(httpEffect, credentialOf(headers), endpoint)
        ),
      apiKey: (httpEffect, { credential, endpoint }) => admit(httpEffect, Redacted.value(credential), endpoint)
    })
  })
)

/** The bearer, or the other carrier where there is no `authorization`; empty when there is none of them. */
export const credentialOf = (headers: Headers.Headers): string => {
  const authorization = headers["authorization"]
  return authorization === undefined ? (headers["x-api-key"] ?? "") : (/^bearer +(.*)$/i.exec(authorization)?.[1] ?? "")
}

/** A signed-in user. */
export const layerSession = Layer.effect(
  SessionAuthorization,
  Effect.gen(function* () {
    const sessions = yield* SessionTokens
    return SessionAuthorization.of({
      session: Effect.fnUntraced(function* (httpEffect, { credential }) {
        const token = Redacted.value(credential)
        const found = yield* Effect.result(sessions.authenticate(token))
        if (found._tag === "Failure") return yield* refuse(found.failure, "session", token)
        const known = Effect.provideService(httpEffect, CurrentUser, found.success)
        return yield* asActor(known, "user", found.success.user.id)
      })
    })
  })
)

/** Lets through whoever sends the admin key, or an access token of an admin: who that is, is looked up each time. */
export const layerAdmin = (adminKey: Redacted.Redacted) =>
  Layer.effect(
    AdminAuthorization,
    Effect.gen(function* () {
      const sessions = yield* SessionTokens
      const rates = yield* SignInLimits

      const byKey = Effect.fnUntraced(function* <E, R>(
        httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
        credential: Redacted.Redacted
      ) {
        const sent = Redacted.value(credential)
        if (sent === "") return yield* refuse(gatewayError(new AdminUnauthenticated()), "admin_key", sent)
        const address = clientAddress(yield* HttpServerRequest.HttpServerRequest)
        const shut = yield* Effect.result(rates.mayTryAdminKey(address))
        if (shut._tag === "Failure") return yield* refuse(shut.failure, "admin_key", sent)
        if (sameSecret(sent, Redacted.value(adminKey))) return yield* asActor(httpEffect, "admin_key", null)
        const counted = yield* Effect.result(rates.wrongAdminKey(address))
        const error = counted._tag === "Failure" ? counted.failure : gatewayError(new AdminUnauthenticated())
        return yield* refuse(error, "admin_key", sent)
      })

      const bySession = Effect.fnUntraced(function* <E, R>(
        httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
        credential: string
      ) {
        const found = yield* Effect.result(sessions.authenticateNow(credential))
        if (found._tag === "Failure") {
          const isRefusal = found.failure.reason._tag === "SignInRefused"
          const error = isRefusal ? gatewayError(new AdminUnauthenticated()) : found.failure
          return yield* refuse(error, "admin_session", credential)
        }
        const { user } = found.success
        if (user.role !== "admin") {
          return yield* refuse(gatewayError(new AdminRequired()), "admin_session", credential)
        }
        return yield* asActor(httpEffect, "admin", user.id)
      })

      return AdminAuthorization.of({
        // The schemes are tried in turn until one answers: a request without the key's header passes on to the other one.
        adminKey: (httpEffect, { credential }) =>
          Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
            const token = /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1]
            return headers["x-admin-key"] === undefined && token !== undefined
              ? bySession(httpEffect, token)
              : byKey(httpEffect, credential)
          }),
        session: (httpEffect, { credential }) => bySession(httpEffect, Redacted.value(credential))
      })
    })
  )

/** The caller, if its key has the scope. */
export const withScope = (caller: Caller, scope: Scope): Effect.Effect<Caller, GatewayError> =>
  caller.key.scopes.includes(scope) ? Effect.succeed(caller) : Effect.fail(gatewayError(new ScopeMissing({ scope })))

/** The caller of an endpoint of the API builder's. */
export const callerWith = (scope: Scope): Effect.Effect<Caller, GatewayError, CurrentKey> =>
  Effect.flatMap(CurrentKey, (caller) => withScope(caller, scope))
