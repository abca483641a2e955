/** Errors in the form of the Responses API: every reason, in a body and in a stream. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type HttpServerResponse } from "effect/http"
import { ErrorEnvelope } from "../../../src/api/Failure.ts"
import { gatewayError, type Reason } from "../../../src/domain/Errors.ts"
import {
  errorResponse,
  internalErrorResponse,
  responseFailure,
  validationResponse
} from "../../../src/http/errors/ErrorResponse.ts"
import { isToldInStream } from "../../../src/http/errors/ResponsesErrors.ts"
import { surfaceOf } from "../../../src/http/errors/Surface.ts"
import { reasons } from "../../support/reasons.ts"
import { TestApp } from "../../support/TestApp.ts"

const asked = { requestId: "req_1", surface: "responses" } as const

const bodyOf = ({ body }: HttpServerResponse.HttpServerResponse) =>
  Schema.decodeUnknownSync(ErrorEnvelope)(
    JSON.parse(new TextDecoder().decode(body._tag === "Uint8Array" ? body.body : undefined))
  )

const reasonsOf = (tag: Reason["_tag"]) => reasons.filter(({ _tag }) => _tag === tag)

it("every reason has OpenAI's envelope, and neither 402 nor 422", () => {
  for (const reason of reasons) {
    const response = errorResponse(gatewayError(reason), asked)
    assert.notInclude([402, 422], response.status, reason._tag)
    assert.strictEqual(bodyOf(response).error.request_id, "req_1")
  }
  assert.strictEqual(internalErrorResponse(asked).status, 500)
})

it("a budget without room is a 429 that no client asks again", () => {
  for (const reason of reasonsOf("BudgetExceeded")) {
    const response = errorResponse(gatewayError(reason), asked)
    assert.deepStrictEqual([response.status, response.headers["x-should-retry"]], [429, "false"])
    assert.deepInclude(bodyOf(response).error, {
      type: "budget_exceeded",
      code: "insufficient_quota",
      retryable: false
    })
    assert.strictEqual(responseFailure(reason).code, "insufficient_quota")
  }
})

it("an invalid body is a 400 with its first fault", () => {
  const faults = [{ loc: ["body", "model"], msg: "Field required", type: "missing" }]
  const response = validationResponse(faults, asked)
  assert.strictEqual(response.status, 400)
  assert.deepInclude(bodyOf(response).error, { message: "body.model: Field required", param: "model" })
})

it("gives Codex the codes by which it acts", () => {
  const codes = (tag: Reason["_tag"]) => [...new Set(reasonsOf(tag).map((reason) => responseFailure(reason).code))]
  assert.deepStrictEqual(codes("ContextLengthExceeded"), ["context_length_exceeded"])
  assert.deepStrictEqual(codes("InvalidRequest"), ["invalid_prompt"])
  assert.deepStrictEqual(codes("PrivacyBlocked"), ["invalid_prompt"])
  assert.deepStrictEqual(codes("ProviderUnavailable"), ["server_error"])
  assert.deepStrictEqual(codes("Overloaded"), ["server_error"])
  assert.deepStrictEqual(responseFailure(null).code, "server_error")
  for (const reason of [...reasonsOf("RateLimited"), ...reasonsOf("ProviderRateLimited")]) {
    const { code, message } = responseFailure(reason)
    const waitMs = "retryAfterMs" in reason ? reason.retryAfterMs : null
    if (waitMs !== null) assert.match(message, /Please try again in \d+s\.$/)
    // A prompt that is larger than the limit will not fit later either.
    const isHopeless = reason._tag === "RateLimited" && reason.needed !== null
    assert.strictEqual(code, isHopeless ? "invalid_prompt" : "rate_limit_exceeded")
  }
})

it("tells an overflow in the stream to all clients, and a rate limit to those that wait for it there", () => {
  const told = (waits: boolean) =>
    [...new Set(reasons.filter((reason) => isToldInStream(reason, waits)).map(({ _tag }) => _tag))].sort()
  assert.deepStrictEqual(told(false), ["ContextLengthExceeded"])
  assert.deepStrictEqual(told(true), ["ContextLengthExceeded", "ProviderRateLimited", "RateLimited"])
})

it("knows the API by the path alone", () => {
  for (const url of [
    "/v1/responses",
    "/v1/responses?x=1",
    "/v1/responses/resp_1/cancel",
    "http://a.example/v1/responses"
  ]) {
    assert.strictEqual(surfaceOf(url), "responses", url)
  }
  for (const url of ["/v1/responsesx", "/v1/models?x=/v1/responses", "/a/v1/responses"]) {
    assert.strictEqual(surfaceOf(url), "openai", url)
  }
})

it.effect("paths and methods that do not exist are 404 and 405 in the envelope", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const headers = { "x-request-id": "r-1" }
    const seen = (path: string, method: string) =>
      Effect.map(send(path, { headers, method }), ({ status, text }) => [status, JSON.parse(text).error.code])
    assert.deepStrictEqual(yield* seen("/v1/responses/resp_1/cancel", "POST"), [404, "route_not_found"])
    // Paths of one response, which can be read and deleted.
    for (const path of ["/v1/responses/compact", "/v1/responses/input_tokens"]) {
      assert.deepStrictEqual(yield* seen(path, "POST"), [405, "method_not_allowed"], path)
    }
    assert.deepStrictEqual(yield* seen("/v1/responses", "GET"), [405, "method_not_allowed"])
  }).pipe(Effect.provide(TestApp.layer()))
)
