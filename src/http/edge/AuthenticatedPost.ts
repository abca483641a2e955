/**
 * Serves the `POST` endpoints that take an API key and JSON: chat, messages, responses and
 * embeddings. Method, path, scope, size limit, schemas and the types of the handler come from the
 * endpoint of the contract. The checks, their order and their responses equal those of the API
 * builder with the middleware Authorization and Validation. The builder is bypassed for speed: it
 * costs 100 µs of processor time per request, a tenth of an answered one
 * (docs/internals/performance.md).
 */
import { Context, Effect, Predicate, Schema, SchemaAST, type Scope } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApiEndpoint, type HttpApiSchema } from "effect/http-api"
import { parseOptions } from "../../api/Api.ts"
import { type Authorization, RequiredScope } from "../../api/Authorization.ts"
import { BodyBytes, type Validation, type ValidationError } from "../../api/Failure.ts"
import { type MessagesAuthorization, type MessagesValidation } from "../../api/MessagesErrors.ts"
import { type ResponsesValidation } from "../../api/ResponsesErrors.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { ApiKeys } from "../../gateway/keys/ApiKeys.ts"
import { type Caller } from "../../gateway/request/Caller.ts"
import { credentialOf, refuse, withScope } from "../auth/Authorization.ts"
import { BodyReader, type Body, hasBody } from "../body/Body.ts"
import { CurrentRequest, type RequestState } from "./CurrentRequest.ts"
import { errorResponse, recordError, validationResponse } from "../errors/ErrorResponse.ts"
import { excessFault, typeFault } from "../body/JsonBody.ts"
import { makeDecode } from "../body/Payload.ts"
import { validationFaults } from "../body/ValidationFaults.ts"

/** An endpoint without parameters, with one JSON payload and only these two middleware. */
type PostEndpoint<Payload extends Schema.Top, Headers extends Schema.Top, Success extends Schema.Top> = Pick<
  HttpApiEndpoint.HttpApiEndpoint<
    string,
    "POST",
    HttpRouter.PathInput,
    never,
    never,
    Payload,
    Headers,
    Success,
    Schema.Top,
    Authorization | Validation | MessagesAuthorization | MessagesValidation | ResponsesValidation
  >,
  "method" | "path" | "payload" | "headers" | "annotations" | "~Payload" | "~Headers" | "~Success" | "~Middleware"
>

/** An authenticated request. */
export interface AuthenticatedRequest<Payload, Headers, Success> {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly payload: Payload
  /** The headers that the endpoint declares. */
  readonly headers: Headers
  readonly caller: Caller
  /** The secret that the caller sent. */
  readonly credential: string
  readonly state: RequestState
  /** Writes a success of the endpoint. */
  readonly json: (success: Success) => HttpServerResponse.HttpServerResponse
}

/** What an endpoint answers as a whole. */
type Whole<Success extends Schema.Top> = Exclude<Success, HttpApiSchema.StreamSchema>["Type"]

/** The scope of a handler's effect is the scope of the request. */
export const authenticatedPost = <
  Payload extends Schema.Top,
  Headers extends Schema.Top,
  Success extends Schema.Top,
  E,
  R
>(
  endpoint: PostEndpoint<Payload, Headers, Success>,
  makeHandler: Effect.Effect<
    (
      request: AuthenticatedRequest<Payload["Type"], Headers["Type"], Whole<Success>>
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError, Scope.Scope>,
    E,
    R
  >
) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const bodyReader = yield* BodyReader
      const handle = yield* makeHandler
      const scope = Context.get(endpoint.annotations, RequiredScope)
      const name = `${endpoint.method} ${endpoint.path}`
      const maxBytes = Context.get(endpoint.annotations, BodyBytes) ?? undefined
      const decode = yield* makeDecode(yield* payloadOf(endpoint))
      const declaredHeaders = yield* headersOf(endpoint)
      const decodeHeaders = Schema.decodeUnknownResult(declaredHeaders, parseOptions)
      const names = namesIn(declaredHeaders)
      const withoutHeaders = decodeHeaders({})
      // Most requests have no header that the endpoint declares.
      const headersIn = ({ headers }: Request) =>
        names === null || names.some((name) => headers[name] !== undefined) ? decodeHeaders(headers) : withoutHeaders

      const decoded = (request: Request, state: RequestState, caller: Caller, credential: string, body: Body) => {
        const refused = (faults: ReadonlyArray<ValidationError>) => Effect.succeed(validationResponse(faults, state))
        if (body._tag === "TooComplex") return refused([excessFault(body.excess)])
        const fault = body.text === "" ? undefined : typeFault(request.headers["content-type"])
        if (fault !== undefined) return refused([fault])
        const headers = headersIn(request)
        if (headers._tag === "Failure") {
          return refused(validationFaults(headers.failure.issue, "header", request.headers))
        }
        return matchEffectEager(decode(body), refused, (payload) => {
          state.model = modelIn(payload)
          return handle({ request, payload, headers: headers.success, caller, credential, state, json })
        })
      }

      const admitted = (request: Request, state: RequestState, caller: Caller, credential: string) =>
        Effect.catchEager(
          Effect.flatMapEager(bodyReader.admit(state.share), () =>
            hasBody(request)
              ? Effect.flatMap(bodyReader.read(request, state.share, maxBytes), (body) =>
                  decoded(request, state, caller, credential, body)
                )
              : decoded(request, state, caller, credential, empty)
          ),
          (error) => {
            recordError(state, error)
            return Effect.succeed(errorResponse(error, state))
          }
        )

      yield* router.add(
        endpoint.method,
        endpoint.path,
        Effect.withFiber((fiber) => {
          const state = Context.getUnsafe(fiber.context, CurrentRequest)
          state.isMetered = true
          state.endpoint = name
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const credential = credentialOf(request.headers)
          return matchEffectEager(
            withScope(apiKeys.authenticate(credential), scope, state),
            (error) => refuse(error, "api_key", credential),
            (caller) => admitted(request, state, caller, credential)
          )
        })
      )
    })
  )

type Request = HttpServerRequest.HttpServerRequest

/** As `Effect.matchEffect`, but an outcome that is known already is passed on at once. */
const matchEffectEager = <A, E, R, B, E2, R2, C, E3, R3>(
  self: Effect.Effect<A, E, R>,
  onFailure: (error: E) => Effect.Effect<B, E2, R2>,
  onSuccess: (value: A) => Effect.Effect<C, E3, R3>
) =>
  Effect.matchCauseEffectEager(self, {
    onFailure: (cause) => Effect.catchEager(Effect.failCause(cause), onFailure),
    onSuccess
  })

const empty: Body = { _tag: "Text", text: "", hasLongNumber: false }

const modelIn = (payload: unknown): string | null =>
  Predicate.hasProperty(payload, "model") && typeof payload.model === "string" ? payload.model : null

const json = (success: unknown): HttpServerResponse.HttpServerResponse => HttpServerResponse.jsonUnsafe(success)

/** An endpoint stores its schemas under a wider type than the one that it declares. */
const isOf = <S extends Schema.Top>(schema: Schema.Top | undefined): schema is Schema.Codec<S["Type"], unknown> =>
  schema !== undefined

const payloadOf = <Payload extends Schema.Top>({ path, payload }: PostEndpoint<Payload, Schema.Top, Schema.Top>) => {
  const [schema, another] = payload.get("application/json")?.schemas ?? []
  return isOf<Payload>(schema) && another === undefined
    ? Effect.succeed(schema)
    : Effect.die(new Error(`${path} does not declare one JSON payload`))
}

/** The headers that a schema reads; null: any. */
const namesIn = ({ ast }: Schema.Top): ReadonlyArray<string> | null => {
  const encoded = SchemaAST.toEncoded(ast)
  return encoded._tag === "Objects" && encoded.indexSignatures.length === 0
    ? encoded.propertySignatures.map(({ name }) => String(name))
    : null
}

const headersOf = <Headers extends Schema.Top>({ headers, path }: PostEndpoint<Schema.Top, Headers, Schema.Top>) =>
  isOf<Headers>(headers) ? Effect.succeed(headers) : Effect.die(new Error(`${path} does not declare its headers`))
