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
} from "../api/Authorization.ts"
import { AdminRequired, AdminUnauthenticated, gatewayError, type GatewayError, ScopeMissing } from "../domain/Errors.ts"
import { type Scope } from "../domain/Key.ts"
import { Accounts } from "../gateway/Accounts.ts"
import { sameSecret } from "../gateway/KeySecret.ts"
import { type Caller } from "../gateway/Order.ts"
import { SessionTokens } from "../gateway/SessionTokens.ts"
import { makeActing } from "./Acting.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { errorResponse } from "./Failure.ts"

const refuse = (error: GatewayError) => Effect.map(CurrentRequest, ({ requestId }) => errorResponse(error, requestId))

export const layer = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const accounts = yield* Accounts

    const admit = Effect.fnUntraced(function* <E, R>(
      httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      credential: string,
      endpoint: HttpApiEndpoint.Top
    ) {
      const scope = Context.get(endpoint.annotations, RequiredScope)
      const found = yield* accounts
        .authenticate(credential)
        .pipe(scope === null ? identity : Effect.tap((caller) => withScope(caller, scope)), Effect.result)
      if (found._tag === "Failure") return yield* refuse(found.failure)
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
export const layerSession = (trustedProxies: ReadonlyArray<string>) =>
  Layer.effect(
    SessionAuthorization,
    Effect.gen(function* () {
      const sessions = yield* SessionTokens
      const acting = makeActing(trustedProxies)
      return SessionAuthorization.of({
        session: Effect.fnUntraced(function* (httpEffect, { credential }) {
          const found = yield* Effect.result(sessions.authenticate(Redacted.value(credential)))
          if (found._tag === "Failure") return yield* refuse(found.failure)
          const known = Effect.provideService(httpEffect, CurrentUser, found.success)
          return yield* acting(known, "user", found.success.user.id)
        })
      })
    })
  )

/** Lets through whoever sends the admin key, or an access token of an admin: who that is, is looked up each time. */
export const layerAdmin = (adminKey: Redacted.Redacted, trustedProxies: ReadonlyArray<string>) =>
  Layer.effect(
    AdminAuthorization,
    Effect.gen(function* () {
      const sessions = yield* SessionTokens
      const acting = makeActing(trustedProxies)

      const byKey = <E, R>(
        httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
        credential: Redacted.Redacted
      ) =>
        sameSecret(Redacted.value(credential), Redacted.value(adminKey))
          ? acting(httpEffect, "admin_key", null)
          : refuse(gatewayError(new AdminUnauthenticated()))

      const bySession = Effect.fnUntraced(function* <E, R>(
        httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
        credential: string
      ) {
        const found = yield* Effect.result(sessions.authenticateNow(credential))
        if (found._tag === "Failure") {
          const isRefusal = found.failure.reason._tag === "SignInRefused"
          return yield* refuse(isRefusal ? gatewayError(new AdminUnauthenticated()) : found.failure)
        }
        const { user } = found.success
        if (user.role !== "admin") return yield* refuse(gatewayError(new AdminRequired()))
        return yield* acting(httpEffect, "admin", user.id)
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
