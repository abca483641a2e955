/**
 * Reads a request's body within its limits of size and time, and responds to invalid requests with
 * the 422 that lists every fault. The text is read once, and only parsed a second time to locate a
 * syntax error. Endpoints with bodies as large as a model request decode them in turns (see
 * Payload.ts).
 */
import { Context, Effect, Layer, type SchemaIssue } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApi, type HttpApiEndpoint, HttpApiError, type HttpApiGroup } from "effect/http-api"
import { ResponsesValidation } from "../../api/ResponsesErrors.ts"
import { BodyBytes, Validation, type ValidationError } from "../../api/Failure.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { BodyReader, hasBody, ownText, withText } from "./Body.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { errorResponse, validationResponse } from "../errors/ErrorResponse.ts"
import { makeFaultsBeyondSchema } from "./FaultsBeyondSchema.ts"
import { type Beyond, excessFault, jsonFault, schemaFaults, typeFault } from "./JsonBody.ts"
import { unknownMembers, validationFaults } from "./ValidationFaults.ts"

const make = Effect.gen(function* () {
  const bodyReader = yield* BodyReader
  const faultsBeyondSchema = yield* makeFaultsBeyondSchema
  return Effect.fnUntraced(function* <E, R>(
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
    { endpoint, group }: { readonly endpoint: HttpApiEndpoint.Top; readonly group: HttpApiGroup.Top }
  ) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const state = yield* CurrentRequest
    const { share } = state
    const misplaced =
      endpoint.query === undefined ? unknownQuery(Context.merge(group.annotations, endpoint.annotations), request) : []
    if (misplaced.length > 0) return validationResponse(misplaced, state)
    let body = ""
    let handler = httpEffect
    if (hasBody(request)) {
      const maxBytes = Context.get(endpoint.annotations, BodyBytes) ?? undefined
      const admitted = maxBytes === undefined ? bodyReader.admit(share) : Effect.void
      const read = yield* Effect.result(Effect.andThen(admitted, bodyReader.read(request, share, maxBytes)))
      if (read._tag === "Failure") return errorResponse(read.failure, state)
      if (read.success._tag === "TooComplex") {
        return validationResponse([excessFault(read.success.excess)], state)
      }
      body = ownText(read.success)
      const mistyped = body === "" ? undefined : typeFault(request.headers["content-type"])
      if (mistyped !== undefined) return validationResponse([mistyped], state)
      handler = Effect.provideService(httpEffect, HttpServerRequest.HttpServerRequest, withText(request, body))
    }
    return yield* Effect.catch(handler, (error) => {
      if (!HttpApiError.HttpApiSchemaError.is(error)) return Effect.fail(error)
      return Effect.flatMap(faultsBeyondSchema(group, endpoint), (beyond) => {
        const detail = detailOf(error, request, body, beyond)
        return detail === undefined ? Effect.die(error) : Effect.succeed(validationResponse(detail, state))
      })
    })
  })
})

export const layer = Layer.merge(Layer.effect(Validation, make), Layer.effect(ResponsesValidation, make))

const detailOf = (
  error: HttpApiError.HttpApiSchemaError,
  request: HttpServerRequest.HttpServerRequest,
  body: string,
  beyond: Beyond
): ReadonlyArray<ValidationError> | undefined => {
  const { issue } = error.cause
  switch (error.kind) {
    case "Payload":
      return bodyFaults(body, issue, beyond)
    case "Query":
      return validationFaults(issue, "query", queryOf(request))
    case "Params":
      return validationFaults(issue, "path", {})
    case "Headers":
      return validationFaults(issue, "header", request.headers)
    // The response does not match our own contract: a defect.
    case "Body":
    case "ResponseHeaders":
      return undefined
  }
}

const bodyFaults = (text: string, issue: SchemaIssue.Issue, beyond: Beyond): ReadonlyArray<ValidationError> => {
  const value = parseJson(text)
  return value === undefined ? [jsonFault(text)] : schemaFaults(value, issue, beyond)
}

/** Faults of a query string of an endpoint that has no query parameters, unless it allows them. */
const unknownQuery = (
  annotations: Context.Context<never>,
  request: HttpServerRequest.HttpServerRequest
): ReadonlyArray<ValidationError> =>
  request.url.includes("?") &&
  Context.getOrUndefined(annotations, HttpApi.QueryParseOptions)?.onExcessProperty === "error"
    ? unknownMembers(queryOf(request), "query")
    : []

const queryOf = (request: HttpServerRequest.HttpServerRequest): Readonly<Record<string, string>> =>
  Object.fromEntries(new URLSearchParams(request.url.slice(request.url.indexOf("?") + 1)))
