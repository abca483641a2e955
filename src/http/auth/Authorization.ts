/**
 * Authenticates requests: resolves the credential headers to `CurrentKey` or `CurrentUser`, or
 * admits an admin.
 */
import { Context, Effect, Layer, Redacted } from "effect"
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
import { AuditLog } from "../../gateway/telemetry/Audit.ts"
import { sameSecret } from "../../gateway/keys/KeySecret.ts"
import { type Caller } from "../../gateway/request/Caller.ts"
import { SignInLimits } from "../../gateway/signin/SignInLimits.ts"
import { SessionTokens } from "../../gateway/signin/SessionTokens.ts"
import { asActor } from "./ActorContext.ts"
import { clientAddress } from "./ClientAddress.ts"
import { CurrentRequest, type RequestState } from "../edge/CurrentRequest.ts"
import { errorResponse, recordError } from "../errors/ErrorResponse.ts"

/**
 * Responds to a refused credential and audits it. A request without a credential, and one whose
 * look-up failed, are not audited.
 */
export const refuse = Effect.fnUntraced(function* (error: GatewayError, credential: string, sent: string) {
  const state = yield* CurrentRequest
  recordError(state, error)
  const { auditRefusedCredential } = yield* AuditLog
  const isAudited = sent !== "" && error.reason._tag !== "DependencyUnavailable"
  if (isAudited) yield* asActor(Effect.ignore(auditRefusedCredential(credential)(Effect.fail(error))), "nobody", null)
  return errorResponse(error, state)
})

const layerKey = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const apiKeys = yield* ApiKeys

    const admit = Effect.fnUntraced(function* <E, R>(
      httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      credential: string,
      endpoint: HttpApiEndpoint.Top
    ) {
      const scope = Context.get(endpoint.annotations, RequiredScope)
      const state = yield* CurrentRequest
      const found = yield* Effect.result(withScope(apiKeys.authenticate(credential), scope, state))
      if (found._tag === "Failure") return yield* refuse(found.failure, "api_key", credential)
      return yield* Effect.provideService(httpEffect, CurrentKey, found.success)
    })

    // HttpApi tries the schemes in order, so the first one reads both headers.
    return Authorization.of({
      bearer: (httpEffect, { endpoint }) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
          admit(httpEffect, credentialOf(headers), endpoint)
        ),
      apiKey: (httpEffect, { credential, endpoint }) => admit(httpEffect, Redacted.value(credential), endpoint)
    })
  })
)

/**
 * The bearer token, or `x-api-key` when there is no `authorization` header; empty when there is
 * neither.
 */
export const credentialOf = (headers: Headers.Headers): string => {
  const authorization = headers["authorization"]
  return authorization === undefined ? (headers["x-api-key"] ?? "") : (/^bearer +(.*)$/i.exec(authorization)?.[1] ?? "")
}

/** Authenticates a signed-in user. */
const layerSession = Layer.effect(
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

/**
 * Admits the admin key, or the access token of an admin. The admin's role is looked up for each
 * request.
 */
const layerAdmin = (adminKey: Redacted.Redacted) =>
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
        const allowed = yield* Effect.result(rates.mayTryAdminKey(address))
        if (allowed._tag === "Failure") return yield* refuse(allowed.failure, "admin_key", sent)
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
        // HttpApi tries the schemes in order, so a request without the admin key's header is passed
        // to the session scheme.
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

/** The caller, if its key has the scope that the endpoint requires. The state keeps it. */
export const withScope = <E>(
  caller: Effect.Effect<Caller, E>,
  scope: Scope | null,
  state: RequestState
): Effect.Effect<Caller, E | GatewayError> =>
  Effect.flatMapEager(caller, (known) => {
    state.caller = known
    return scope === null || known.key.scopes.includes(scope)
      ? Effect.succeed(known)
      : Effect.fail(gatewayError(new ScopeMissing({ scope })))
  })

export const layers = (adminKey: Redacted.Redacted) => Layer.mergeAll(layerKey, layerSession, layerAdmin(adminKey))
