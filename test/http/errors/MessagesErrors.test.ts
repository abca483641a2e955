/** Errors in the form of the Messages API: every reason, and refusals without an endpoint. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type HttpServerResponse } from "effect/http"
import { MessagesErrorBody } from "../../../src/api/MessagesErrors.ts"
import {
  ContextLengthExceeded,
  gatewayError,
  InvalidRequest,
  ProviderUnavailable,
  type Reason
} from "../../../src/domain/Errors.ts"
import { errorResponse, internalErrorResponse, validationResponse } from "../../../src/http/errors/ErrorResponse.ts"
import { surfaceOf } from "../../../src/http/errors/Surface.ts"
import { reasons } from "../../support/reasons.ts"
import { TestApp } from "../../support/TestApp.ts"

const asked = { requestId: "req_1", surface: "messages" } as const

const textOf = ({ body }: HttpServerResponse.HttpServerResponse) =>
  new TextDecoder().decode(body._tag === "Uint8Array" ? body.body : undefined)

const bodyOf = (response: HttpServerResponse.HttpServerResponse) =>
  Schema.decodeUnknownSync(MessagesErrorBody)(JSON.parse(textOf(response)))

const seen = (response: HttpServerResponse.HttpServerResponse) => [response.status, bodyOf(response).error.type]

/** The statuses and types of the vendor, which its libraries know. */
const vendors: Readonly<Record<string, ReadonlyArray<number>>> = {
  invalid_request_error: [400, 405, 408, 415, 431],
  authentication_error: [401],
  billing_error: [402],
  // 429: a sign-up after the day's limit, which no endpoint of this API has.
  permission_error: [403, 429],
  not_found_error: [404],
  conflict_error: [409],
  request_too_large: [413],
  rate_limit_error: [429],
  api_error: [500, 502, 503],
  timeout_error: [408, 504],
  overloaded_error: [529]
}

it("every reason has a type and a status of the Messages API, and says whether to retry", () => {
  for (const reason of reasons) {
    const response = errorResponse(gatewayError(reason), asked)
    const { error, request_id } = bodyOf(response)
    assert.isTrue(vendors[error.type]?.includes(response.status), `${reason._tag} ${response.status}`)
    assert.notStrictEqual(error.message, undefined)
    assert.strictEqual(request_id, "req_1")
    assert.match(response.headers["x-should-retry"] ?? "", /^(?:true|false)$/, reason._tag)
    assert.match(response.headers["retry-after"] ?? "1", /^\d+$/)
  }
})

it("gives clients the statuses by which they act", () => {
  const of = (tag: Reason["_tag"]) => {
    const reason = reasons.find(({ _tag }) => _tag === tag)
    assert.isDefined(reason)
    return reason === undefined ? [] : seen(errorResponse(gatewayError(reason), asked))
  }
  assert.deepStrictEqual(of("BudgetExceeded"), [402, "billing_error"])
  assert.deepStrictEqual(of("RateLimited"), [429, "rate_limit_error"])
  assert.deepStrictEqual(of("ProviderUnavailable"), [529, "overloaded_error"])
  assert.deepStrictEqual(of("Overloaded"), [529, "overloaded_error"])
  assert.deepStrictEqual(of("ProvidersTimedOut"), [504, "timeout_error"])
  assert.deepStrictEqual(seen(internalErrorResponse(asked)), [500, "api_error"])
  const faults = [{ loc: ["body", "max_tokens"], msg: "Field required", type: "missing" }]
  const invalid = validationResponse(faults, asked)
  assert.deepStrictEqual(seen(invalid), [400, "invalid_request_error"])
  assert.deepInclude(bodyOf(invalid).error, {
    message: "body.max_tokens: Field required",
    details: { param: "max_tokens", error_code: "validation_failed" }
  })
})

it("tells an overflow in the words that make a client shorten its conversation", () => {
  const overflow = (message: string | null) =>
    bodyOf(
      errorResponse(
        gatewayError(new ContextLengthExceeded({ message, promptTokens: 9, contextLength: 8, param: "messages" })),
        asked
      )
    ).error.message
  assert.strictEqual(overflow(null), "prompt is too long: 9 tokens > 8 maximum")
  const anthropic = "prompt is too long: 210000 tokens > 200000 maximum"
  assert.strictEqual(overflow(anthropic), anthropic)
  assert.strictEqual(overflow("maximum context length is 8"), "prompt is too long: maximum context length is 8")
})

it("names the capability that no provider has, so that Claude Code asks again without it", () => {
  const told = (param: string | null, message: string, code: string | null = "unsupported_parameter") =>
    bodyOf(errorResponse(gatewayError(new InvalidRequest({ message, param, code, provider: null })), asked)).error
      .message
  assert.strictEqual(told("messages", "images must be PNG"), "images must be PNG (capability_rejected: image_block)")
  for (const [param, message, capability] of [
    ["messages", "a file of type text/css", "document_block"],
    ["messages.0.content.1.source", "a picture of source file cannot be passed on", "image_block"],
    ["response_format", "no schema", "structured_outputs_unsupported"],
    ["reasoning_effort", "no effort", "effort_unsupported"]
  ] as const) {
    assert.isTrue(told(param, message).endsWith(` (capability_rejected: ${capability})`), message)
  }
  assert.strictEqual(told("messages", "images are too large", "invalid_value"), "images are too large")
  assert.strictEqual(told("logit_bias", "not here"), "not here")
})

it("knows the API by the path alone", () => {
  for (const url of [
    "/v1/messages",
    "/v1/messages?beta=true",
    "/v1/messages/batches",
    "/v1/v1/messages",
    "/api/v1/messages?beta=true",
    "/messages",
    "//v1/messages/count_tokens",
    "http://a.example/v1/messages"
  ]) {
    assert.strictEqual(surfaceOf(url), "messages", url)
  }
  for (const url of ["/v1/messagesx", "/v1/chat/completions", "/v1/models?x=/v1/messages", "/a/v1/messages"]) {
    assert.strictEqual(surfaceOf(url), "openai", url)
  }
})

it.effect("a path that a wrong base URL makes is a 404 that names the right one", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    for (const prefix of ["/v1/v1", "", "/api/v1", "/api"]) {
      for (const path of ["/messages", "/messages/count_tokens"]) {
        const { headers, status, text } = yield* send(`${prefix}${path}?beta=true`, { body: {} })
        assert.deepStrictEqual([status, headers.get("x-should-retry")], [404, "false"])
        const { error, type } = JSON.parse(text)
        assert.deepStrictEqual([type, error.type], ["error", "not_found_error"])
        assert.include(error.message, `Did you mean /v1${path}?`)
      }
    }
  }).pipe(Effect.provide(TestApp.layer()))
)

it("the header that forbids a retry and the body say the same, at every API", () => {
  const waits = [60_000, 60_001].map((retryAfterMs) => new ProviderUnavailable({ attempts: [], retryAfterMs }))
  for (const reason of [...reasons, ...waits]) {
    const saysSo = (surface: "openai" | "responses") => {
      const response = errorResponse(gatewayError(reason), { ...asked, surface })
      const { retryable } = JSON.parse(textOf(response)).error
      const header = response.headers["x-should-retry"]
      const isRetried = [408, 409, 429].includes(response.status) || response.status >= 500
      assert.strictEqual(header === undefined ? isRetried : header === "true", retryable, reason._tag)
      return retryable
    }
    saysSo("responses")
    const retryable = saysSo("openai")
    const inMessages = errorResponse(gatewayError(reason), asked).headers["x-should-retry"]
    assert.strictEqual(inMessages, String(retryable), reason._tag)
  }
})

it.effect("a path that does not exist is a 404 of the Messages API, with its request id", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    for (const path of ["/v1/messages/batches", "/v1/messages/batches/msgbatch_1/results"]) {
      const { headers, status, text } = yield* send(path, { headers: { "x-request-id": "r-1" } })
      assert.deepStrictEqual([status, headers.get("request-id"), headers.get("x-should-retry")], [404, "r-1", "false"])
      assert.deepInclude(JSON.parse(text), { type: "error", request_id: "r-1" })
      assert.strictEqual(JSON.parse(text).error.type, "not_found_error")
    }
  }).pipe(Effect.provide(TestApp.layer()))
)
