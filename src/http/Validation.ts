/**
 * Reads a request's body within its limits of size and time, and answers what does not validate with the 422 that lists every
 * fault. The text is read once; it is parsed a second time only to say where it went wrong.
 */
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { Validation, type ValidationError } from "../api/Failure.ts"
import { Bodies, hasBody, withText } from "./Body.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { errorResponse, validationResponse } from "./Failure.ts"
import { bodyFaults, refusedOutright } from "./JsonBody.ts"
import { validationFaults } from "./ValidationFaults.ts"

export const layer = Layer.effect(
  Validation,
  Effect.map(Bodies, (bodies) =>
    Effect.fnUntraced(function* (httpEffect) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { requestId } = yield* CurrentRequest
      let body = ""
      let handler = httpEffect
      if (hasBody(request)) {
        const read = yield* Effect.result(bodies.read(request))
        if (read._tag === "Failure") return errorResponse(read.failure, requestId)
        body = read.success
        const refused = body === "" ? undefined : refusedOutright(request.headers["content-type"], body)
        if (refused !== undefined) return validationResponse([refused], requestId)
        handler = Effect.provideService(httpEffect, HttpServerRequest.HttpServerRequest, withText(request, body))
      }
      return yield* Effect.catch(handler, (error) => {
        if (!HttpApiError.HttpApiSchemaError.is(error)) return Effect.fail(error)
        const detail = detailOf(error, request, body)
        return detail === undefined ? Effect.die(error) : Effect.succeed(validationResponse(detail, requestId))
      })
    })
  )
)

const detailOf = (
  error: HttpApiError.HttpApiSchemaError,
  request: HttpServerRequest.HttpServerRequest,
  body: string
): ReadonlyArray<ValidationError> | undefined => {
  const { issue } = error.cause
  switch (error.kind) {
    case "Payload":
      return bodyFaults(body, issue)
    case "Query":
      return validationFaults(issue, "query", queryOf(request))
    case "Params":
      return validationFaults(issue, "path", {})
    case "Headers":
      return validationFaults(issue, "header", request.headers)
    // What we answer does not fit our own contract: a bug.
    case "Body":
    case "ResponseHeaders":
      return undefined
  }
}

const queryOf = (request: HttpServerRequest.HttpServerRequest): Readonly<Record<string, string>> =>
  Object.fromEntries(new URLSearchParams(request.url.slice(request.url.indexOf("?") + 1)))
