/**
 * Reads a request's body within its limits of size and time, and answers what does not validate with the 422 that lists every
 * fault. The text is read once; it is parsed a second time only to say where it went wrong.
 */
import { ByteSize, Duration, Effect, Fiber, Layer, Option, Result } from "effect"
import { HttpIncomingMessage, HttpMethod, type HttpServerError, HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { Validation, type ValidationError } from "../api/Failure.ts"
import { BodyTooLarge, BodyTooSlow, gatewayError } from "../domain/Errors.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { errorResponse, validationResponse } from "./Failure.ts"
import { validationFaults } from "./ValidationFaults.ts"

export interface ValidationOptions {
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
}

/** Deeper JSON than this is refused: nothing that a model reads needs it, and it breaks recursive code. */
const MAX_DEPTH = 128

export const layer = (options: ValidationOptions): Layer.Layer<Validation> => {
  const maxBodySize = ByteSize.bytes(options.maxBodyBytes)
  const tooLarge = gatewayError(new BodyTooLarge({ limitBytes: options.maxBodyBytes }))
  const tooSlow = gatewayError(new BodyTooSlow({ limitMs: options.bodyTimeoutMs }))

  const text = (request: HttpServerRequest.HttpServerRequest) =>
    request.text.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBodySize),
      Effect.catch((error) => (isTooLarge(error) ? Effect.fail(tooLarge) : Effect.interrupt))
    )

  const readBody = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    if (Number(request.headers["content-length"] ?? 0) > options.maxBodyBytes) return yield* tooLarge
    // To interrupt the reading closes the connection, so it lives as long as the request: the 408 goes out first.
    const reading = yield* Effect.forkIn(text(request), yield* Effect.scope, { startImmediately: true })
    const read = yield* Effect.timeoutOption(Fiber.await(reading), Duration.millis(options.bodyTimeoutMs))
    return yield* Option.isNone(read) ? tooSlow : read.value
  })

  return Layer.succeed(
    Validation,
    Effect.fnUntraced(function* (httpEffect) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { requestId } = yield* CurrentRequest
      let body = ""
      if (HttpMethod.hasBody(request.method) && hasBody(request)) {
        const read = yield* Effect.result(readBody(request))
        if (read._tag === "Failure") return errorResponse(read.failure, requestId)
        body = read.success
        const refused = body === "" ? undefined : refusedOutright(request.headers["content-type"], body)
        if (refused !== undefined) return validationResponse([refused], requestId)
      }
      return yield* Effect.catch(httpEffect, (error) => {
        if (!HttpApiError.HttpApiSchemaError.is(error)) return Effect.fail(error)
        const detail = detailOf(error, request, body)
        return detail === undefined ? Effect.die(error) : Effect.succeed(validationResponse(detail, requestId))
      })
    })
  )
}

const hasBody = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.headers["transfer-encoding"] !== undefined || request.headers["content-length"] !== "0"

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

/** What is wrong with a body before any schema looks at it. */
const refusedOutright = (contentType: string | undefined, body: string): ValidationError | undefined => {
  if (contentType !== undefined && !/^application\/json\s*(?:;|$)/i.test(contentType.trim())) {
    const expected = "'application/json'"
    return {
      loc: ["header", "content-type"],
      msg: `Input should be ${expected}`,
      type: "literal_error",
      input: contentType.slice(0, 64),
      ctx: { expected }
    }
  }
  return isTooDeep(body) ? invalidJson(`nested deeper than ${MAX_DEPTH} levels`, undefined) : undefined
}

/** Counts brackets outside of strings; no parse, no recursion. */
const isTooDeep = (text: string): boolean => {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 92) at++
      else if (code === 34) inString = false
    } else if (code === 34) inString = true
    else if (code === 91 || code === 123) {
      if (++depth > MAX_DEPTH) return true
    } else if (code === 93 || code === 125) depth--
  }
  return false
}

const invalidJson = (error: string, position: number | undefined): ValidationError => ({
  loc: position === undefined ? ["body"] : ["body", position],
  msg: "JSON decode error",
  type: "json_invalid",
  ctx: { error }
})

/** Where and why a text is no JSON, without a word of its content; undefined when it is. */
const jsonFault = (text: string): ValidationError | undefined => {
  const parsed = Result.try(() => JSON.parse(text) as unknown)
  if (Result.isSuccess(parsed)) return undefined
  const message = parsed.failure instanceof Error ? parsed.failure.message : ""
  const position = /at position (\d+)/.exec(message)?.[1]
  const what =
    /^(?:Unexpected end of JSON input|Unexpected token '.'|Expected .*? in JSON|Unterminated string|Bad control character|Bad escaped character)/u.exec(
      message
    )?.[0]
  return invalidJson(what ?? "not valid JSON", position === undefined ? undefined : Number(position))
}

const detailOf = (
  error: HttpApiError.HttpApiSchemaError,
  request: HttpServerRequest.HttpServerRequest,
  body: string
): ReadonlyArray<ValidationError> | undefined => {
  const { issue } = error.cause
  switch (error.kind) {
    case "Payload": {
      if (body === "") return [{ loc: ["body"], msg: "Field required", type: "missing" }]
      const fault = jsonFault(body)
      return fault === undefined ? validationFaults(issue, "body", JSON.parse(body)) : [fault]
    }
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
