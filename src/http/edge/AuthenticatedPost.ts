/**
 * The way in of what is paid for, chat and embeddings: whose key it is and what it may do, the body, the schema, in the order and with the answers of all other
 * endpoints, but in one step. The API builder takes these requests through a dozen; that costs more time than everything
 * else that the gateway does (docs/internals/performance.md).
 */
import { Context, Effect, Redacted, Schema, type Scope } from "effect"
import { type Headers, HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { parseOptions } from "../../api/Api.ts"
import { type ValidationError } from "../../api/Failure.ts"
import { IdempotencyHeaders } from "../../api/Idempotency.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Scope as KeyScope } from "../../domain/Key.ts"
import { ApiKeys } from "../../gateway/keys/ApiKeys.ts"
import { type SentKey } from "../../gateway/idempotency/Idempotency.ts"
import { type Caller } from "../../gateway/request/Order.ts"
import { credentialOf, withScope } from "../auth/Authorization.ts"
import { BodyReader, type Body, hasBody } from "../body/Body.ts"
import { CurrentRequest, type RequestState } from "./CurrentRequest.ts"
import { errorResponse, rejected, validationResponse } from "../errors/ErrorResponse.ts"
import { excessFault, typeFault } from "../body/JsonBody.ts"
import { makeDecode } from "../body/Payload.ts"
import { validationFaults } from "../body/ValidationFaults.ts"

/** A request that was let in. */
export interface AuthenticatedRequest<Payload> {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly payload: Payload
  readonly headers: Headers.Headers
  readonly caller: Caller
  readonly idempotencyKey: SentKey | null
  readonly state: RequestState
}

export interface AuthenticatedPostRoute<S extends Schema.Codec<unknown, unknown>> {
  readonly path: HttpRouter.PathInput
  readonly payload: S
  readonly scope: KeyScope
}

/** `POST path`. The scope is the request's. */
export const authenticatedPost = <S extends Schema.Codec<unknown, unknown>, E, R>(
  { path, payload, scope }: AuthenticatedPostRoute<S>,
  makeHandler: Effect.Effect<
    (
      admitted: AuthenticatedRequest<S["Type"]>
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError, Scope.Scope>,
    E,
    R
  >
) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const handle = yield* makeHandler
      const bodyReader = yield* BodyReader
      const decode = yield* makeDecode(payload)

      const admit = (request: HttpServerRequest.HttpServerRequest, state: RequestState) => {
        const { headers } = request
        const credential = credentialOf(headers)

        const refused = (faults: ReadonlyArray<ValidationError>) =>
          Effect.succeed(validationResponse(faults, state.requestId))

        const read = (caller: Caller, body: Body) => {
          if (body._tag === "Shapeless") return refused([excessFault(body.excess)])
          const mistyped = body.text === "" ? undefined : typeFault(headers["content-type"])
          if (mistyped !== undefined) return refused([mistyped])
          const misnamed = headers["idempotency-key"] === undefined ? undefined : namingFault(headers)
          if (misnamed !== undefined) return refused(misnamed)
          return Effect.matchEffect(decode(body), {
            onFailure: refused,
            onSuccess: (payload) =>
              handle({
                request,
                payload,
                headers,
                caller,
                idempotencyKey: sentKey(headers, credential),
                state
              })
          })
        }

        return Effect.flatMap(apiKeys.authenticate(credential), (caller) =>
          Effect.flatMap(Effect.andThen(withScope(caller, scope), bodyReader.admit(state.share)), () =>
            hasBody(request)
              ? Effect.flatMap(bodyReader.read(request, state.share), (body) => read(caller, body))
              : read(caller, empty)
          )
        )
      }

      yield* router.add(
        "POST",
        path,
        Effect.withFiber((fiber) => {
          const state = Context.getUnsafe(fiber.context, CurrentRequest)
          state.isMetered = true
          return Effect.catch(
            admit(Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest), state),
            (error) => {
              rejected(state, error)
              return Effect.succeed(errorResponse(error, state.requestId))
            }
          )
        })
      )
    })
  )

const empty: Body = { _tag: "Text", text: "", hasLongNumber: false }

const decodeHeaders = Schema.decodeUnknownResult(IdempotencyHeaders, parseOptions)

const namingFault = (headers: Headers.Headers) => {
  const decoded = decodeHeaders(headers)
  return decoded._tag === "Success" ? undefined : validationFaults(decoded.failure.issue, "header", headers)
}

const sentKey = (headers: Headers.Headers, credential: string): SentKey | null => {
  const name = headers["idempotency-key"]
  return name === undefined ? null : { name, secret: Redacted.make(credential) }
}
