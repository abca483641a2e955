/**
 * The responses when providers fail, byte by byte: 400, 500, 502, 503, 504. None of them reveals a
 * cause.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  CredentialsRefused,
  Malformed,
  Rejected,
  ServerFault,
  Throttled,
  TimedOut,
  Unreachable,
  Unsupported
} from "../../src/providers/Provider.ts"
import { type Script, scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, enterpriseLimits, envelope, helloReply, id, named, seen } from "./wire.ts"
import { triedOnce } from "../support/testSettings.ts"
import { broken, fails } from "../gateway/scripts.ts"

/** Two providers of one model, alpha first, and the calls in order. */
const pair = (alpha: Script, beta: Script) => {
  const calls: Array<string> = []
  const provider = (slug: string, script: Script) => ({
    slug,
    models: { "test/small": script },
    onCall: () => void calls.push(slug)
  })
  const layer = TestApp.layer({
    providers: [provider("alpha", alpha), provider("beta", beta)],
    settings: {
      routing: triedOnce
    }
  })
  return { calls, layer }
}

const headers = {
  "content-type": "application/json",
  "x-request-id": "r-1",
  "x-generation-id": id("gen", 3),
  "x-tollgate-cache": "miss",
  ...enterpriseLimits([2999, "20ms"], [4000000, "0ms"])
}

const attempt = (provider: string, error_type: string, http_status: number | null, status = "error") => ({
  provider,
  model: "test/small",
  status,
  error_type,
  http_status,
  latency_ms: 0
})

const asked = (more: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    return seen(yield* chat(ask("Hi", more), { key: secret, ...named() }))
  })

it.effect("400: the provider reports a bad request; no other is called", () => {
  const reason = new Rejected({
    status: 422,
    message: "temperature and top_p cannot both be set",
    param: "top_p",
    code: "conflicting_parameters",
    contextLength: false
  })
  const { calls, layer } = pair(fails(reason), { reply: helloReply })
  return Effect.gen(function* () {
    assert.deepStrictEqual(yield* asked(), {
      status: 400,
      headers,
      body: envelope({
        type: "invalid_request_error",
        code: "conflicting_parameters",
        message: "temperature and top_p cannot both be set",
        param: "top_p",
        details: { provider: "alpha" }
      })
    })
    assert.deepStrictEqual(calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("400: the prompt does not fit the context, in the provider's own words", () => {
  const message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 8207 tokens."
  const reason = new Rejected({ status: 400, message, param: null, code: null, contextLength: true })
  return Effect.gen(function* () {
    assert.deepStrictEqual(yield* asked(), {
      status: 400,
      headers,
      body: envelope({
        type: "context_length_exceeded",
        code: "context_length_exceeded",
        message,
        param: "messages"
      })
    })
  }).pipe(Effect.provide(pair(fails(reason), { reply: helloReply }).layer))
})

it.effect("400: the prompt exceeds every provider's context, detected before a call", () => {
  let called = false
  const layer = TestApp.layer({
    providers: [
      {
        slug: "alpha",
        config: { models: [{ ...scriptedOffer("test/small"), contextLength: 6 }] },
        models: { "test/small": { reply: helloReply } },
        onCall: () => void (called = true)
      }
    ]
  })
  return Effect.gen(function* () {
    const { "x-generation-id": _, "x-tollgate-cache": __, ...rest } = headers
    assert.deepStrictEqual(yield* asked(), {
      status: 400,
      headers: rest,
      body: envelope({
        type: "context_length_exceeded",
        code: "context_length_exceeded",
        message:
          "This model's maximum context length is 6 tokens. However, your messages resulted in about 7 tokens. Please shorten the messages.",
        param: "messages"
      })
    })
    assert.isFalse(called)
  }).pipe(Effect.provide(layer))
})

it.effect("400: a request that no provider's dialect can express", () =>
  Effect.gen(function* () {
    const { body, status } = yield* asked()
    assert.strictEqual(status, 400)
    assert.strictEqual(
      body,
      envelope({
        type: "invalid_request_error",
        code: "unsupported_parameter",
        message: "logit_bias has no counterpart here",
        param: "logit_bias",
        details: { provider: "beta" }
      })
    )
  }).pipe(
    Effect.provide(
      pair(broken, fails(new Unsupported({ param: "logit_bias", message: "logit_bias has no counterpart here" }))).layer
    )
  )
)

it.effect("502: every provider failed, with the causes", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* asked(), {
      status: 502,
      headers,
      body: envelope({
        type: "provider_error",
        code: "provider_error",
        message: "No provider answered: alpha answered 500; beta cannot be reached.",
        retryable: true,
        details: { attempts: [attempt("alpha", "server_error", 500), attempt("beta", "unreachable", null)] }
      })
    })
  }).pipe(Effect.provide(pair(broken, fails(new Unreachable({ detail: "10.0.0.7:443 refused, key sk-secret" }))).layer))
)

it.effect("502, not 401: a provider refuses our own credentials", () =>
  Effect.gen(function* () {
    const { body, headers, status } = yield* asked()
    assert.strictEqual(status, 502)
    assert.notProperty(headers, "www-authenticate")
    assert.deepStrictEqual(JSON.parse(body).error.details.attempts, [
      attempt("alpha", "credentials_refused", 401),
      attempt("beta", "malformed", null)
    ])
  }).pipe(
    Effect.provide(
      pair(fails(new CredentialsRefused({ status: 401 })), fails(new Malformed({ detail: "<html>" }))).layer
    )
  )
)

it.effect.each<readonly [string, Script, Script, object]>([
  [
    "429: the providers' own limit, and how long it is asked to wait",
    fails(new Throttled({ status: 429, retryAfterMs: 5_000 })),
    fails(new Throttled({ status: 429, retryAfterMs: 61_000 })),
    {
      status: 429,
      headers: { ...headers, "retry-after": "61", "x-should-retry": "false" },
      type: "provider_rate_limited",
      retryable: false,
      message: "beta is rate limited and asks for 61 seconds. This is the provider's limit, not that of your key."
    }
  ],
  [
    "404: no provider knows the model that it is said to offer",
    fails(new Rejected({ status: 404, message: "no", param: null, code: null, contextLength: false })),
    fails(new Rejected({ status: 404, message: "no", param: null, code: null, contextLength: false })),
    {
      status: 404,
      headers,
      type: "model_not_found",
      retryable: false,
      message:
        "The model 'test/small' is not available: alpha does not know the model 'test/small'; beta does not know the model 'test/small'."
    }
  ],
  [
    "502, and not to be tried again: each provider refuses our own key",
    fails(new CredentialsRefused({ status: 401 })),
    fails(new CredentialsRefused({ status: 402 })),
    {
      status: 502,
      headers: { ...headers, "x-should-retry": "false" },
      type: "provider_error",
      retryable: false,
      message: "No provider answered: alpha refused our key; beta says that our account cannot pay."
    }
  ]
])("%s", ([, alpha, beta, expected]) =>
  Effect.gen(function* () {
    const { body, headers, status } = yield* asked()
    const { message, retryable, type } = JSON.parse(body).error
    assert.deepStrictEqual({ status, headers, type, retryable, message }, expected)
  }).pipe(Effect.provide(pair(alpha, beta).layer))
)

it.effect.each<readonly [string, Script, object]>([
  [
    "502, and not to be tried again: the circuit is open because our key is refused",
    fails(new CredentialsRefused({ status: 401 })),
    {
      status: 502,
      retryAfter: null,
      shouldRetry: "false",
      retryable: false,
      message: "No provider answered: alpha refused our key."
    }
  ],
  [
    "429: the circuit is open because of the provider's rate limit",
    fails(new Throttled({ status: 429, retryAfterMs: 20_000 })),
    {
      status: 429,
      retryAfter: "20",
      shouldRetry: "true",
      retryable: true,
      message: "alpha is rate limited and asks for 20 seconds. This is the provider's limit, not that of your key."
    }
  ]
])("%s", ([, script, expected]) => {
  let calls = 0
  const layer = TestApp.layer({
    providers: [{ slug: "alpha", models: { "test/small": script }, onCall: () => void calls++ }],
    settings: { routing: triedOnce }
  })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const ask_ = Effect.map(chat(ask("Hi"), { key: secret }), ({ headers, status, text }) => {
      const { message, retryable } = JSON.parse(text).error
      const [retryAfter, shouldRetry] = ["retry-after", "x-should-retry"].map((name) => headers.get(name))
      return { status, retryAfter, shouldRetry, retryable, message }
    })
    for (let count = 0; count < 8; count++) assert.deepStrictEqual<object>(yield* ask_, expected)
    assert.isBelow(calls, 8)
  }).pipe(Effect.provide(layer))
})

it.effect("503: allow_fallbacks is false and the first provider is down; Retry-After is the provider's", () => {
  const { calls, layer } = pair(fails(new ServerFault({ status: 503, retryAfterMs: 7_200 })), { reply: helloReply })
  return Effect.gen(function* () {
    assert.deepStrictEqual(yield* asked({ provider: { allow_fallbacks: false } }), {
      status: 503,
      headers: { ...headers, "retry-after": "8" },
      body: envelope({
        type: "provider_unavailable",
        code: "provider_unavailable",
        message: "No provider that this request allows is available now: alpha answered 503.",
        retryable: true,
        retryAfter: 8,
        details: { attempts: [attempt("alpha", "server_error", 503)] }
      })
    })
    assert.deepStrictEqual(calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("504: every provider ran into a time limit", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* asked(), {
      status: 504,
      headers,
      body: envelope({
        type: "provider_timeout",
        code: "provider_timeout",
        message: "No provider answered in time: alpha did not answer in time; beta did not answer in time.",
        retryable: true,
        details: {
          attempts: [attempt("alpha", "timeout", null, "timeout"), attempt("beta", "timeout", null, "timeout")]
        }
      })
    })
  }).pipe(
    Effect.provide(pair(fails(new TimedOut({ phase: "connect" })), fails(new TimedOut({ phase: "first_token" }))).layer)
  )
)

it.effect("500: a defect reveals nothing of its cause, bills nothing, and can be read back", () => {
  // A script without an answer makes the provider die.
  const { layer } = pair({}, { reply: helloReply })
  return Effect.gen(function* () {
    const { adminKey, chat, issueKey, send } = yield* TestApp
    const { id: keyId, secret } = yield* issueKey()
    assert.deepStrictEqual(seen(yield* chat(ask("Hi"), { key: secret, ...named() })), {
      status: 500,
      headers,
      body: envelope({
        type: "internal_error",
        code: "internal_error",
        message: "Something went wrong in the gateway. Report the request id.",
        retryable: true
      })
    })
    const record = JSON.parse((yield* send(`/v1/generations/${id("gen", 3)}`, { key: secret })).text)
    assert.strictEqual(record.error_type, "internal_error")
    assert.isFalse(record.cancelled)
    assert.strictEqual(record.cost.billed_usd, 0)
    assert.lengthOf(record.attempts, 1)
    assert.deepInclude(record.attempts[0], attempt("alpha", "internal_error", null))
    const key = JSON.parse((yield* send(`/v1/keys/${keyId}`, { headers: { "x-admin-key": adminKey } })).text)
    assert.deepStrictEqual([key.usage.month_spent_usd, key.usage.month_reserved_usd], [0, 0])
  }).pipe(Effect.provide(layer))
})
