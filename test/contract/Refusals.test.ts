/**
 * Responses of the policies and the router that refuse a request, byte by byte: 402, 403, 404, 405,
 * 429.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { unknownPolicy } from "../../src/domain/Catalog.ts"
import { nanoFromUsd } from "../../src/domain/pricing/Money.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "./clock.ts"
import { ask, enterpriseLimits, envelope, helloReply, id, named, seen } from "./wire.ts"

const json = { "content-type": "application/json", "x-request-id": "r-1" }
const reply = { reply: helloReply }
const app = TestApp.layer({
  providers: [
    { slug: "alpha", models: { "test/small": reply, "test/large": reply, "one/twin": reply, "two/twin": reply } },
    {
      slug: "beta",
      config: {
        dataPolicy: { training: false, retainsPrompts: true, retentionDays: 30, zdr: false },
        models: [{ ...scriptedOffer("test/small"), contextLength: 10 }]
      },
      models: { "test/small": reply }
    }
  ]
})

it.effect(
  "402: the budget is too small; the response has cap, spent, reserved, needed and the reset, and forbids retries",
  () =>
    Effect.gen(function* () {
      const { chat, issueKey } = yield* TestApp
      const { secret } = yield* issueKey({ monthlyBudgetNano: nanoFromUsd(0.000012) })
      const first = yield* chat(ask("Hi", { max_tokens: 1 }), { key: secret })
      assert.strictEqual(first.status, 200)
      const second = yield* chat(ask("Ho", { max_tokens: 1000 }), { key: secret, ...named() })
      assert.deepStrictEqual(seen(second), {
        status: 402,
        headers: {
          ...json,
          "x-should-retry": "false",
          ...enterpriseLimits([2998, "40ms"], [3999996, "1ms"])
        },
        body: envelope({
          type: "budget_exceeded",
          code: "monthly_budget_exceeded",
          message:
            "The key's monthly budget of $0.000012 has no room for this request: $0.000005 spent, $0 reserved. It resets at 1970-02-01T00:00:00.000Z.",
          details: {
            cap_usd: 0.000012,
            spent_usd: 0.000005,
            reserved_usd: 0,
            needed_usd: 0.002007,
            resets_at: "1970-02-01T00:00:00.000Z"
          }
        })
      })
    }).pipe(Effect.provide(app))
)

it.effect("403: the key lacks the scope", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey({ scopes: ["privacy:preview"] })
    const refused = (scope: string) => ({
      status: 403,
      headers: json,
      body: envelope({
        type: "permission_denied",
        code: "scope_missing",
        message: `This key lacks the scope ${scope}.`,
        details: { required_scope: scope }
      })
    })
    assert.deepStrictEqual(seen(yield* chat(ask("Hi"), { key: secret, ...named() })), refused("chat:write"))
    assert.deepStrictEqual(
      seen(yield* send("/v1/embeddings", { body: { model: "m", input: "x" }, key: secret, ...named() })),
      refused("embeddings:write")
    )
    assert.deepStrictEqual(seen(yield* send("/v1/models", { key: secret, ...named() })), refused("models:read"))
    for (const path of ["/v1/generations", `/v1/generations/${id("gen", 1)}`]) {
      assert.deepStrictEqual(seen(yield* send(path, { key: secret, ...named() })), refused("generations:read"))
    }
  }).pipe(Effect.provide(app))
)

it.effect("403: the model is not on the key's whitelist; `author/*` allows all models of an author", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ allowedModels: ["test/large", "one/*"] })
    assert.deepStrictEqual(seen(yield* chat(ask("Hi"), { key: secret, ...named() })), {
      status: 403,
      headers: { ...json, ...enterpriseLimits([2999, "20ms"], [4000000, "0ms"]) },
      body: envelope({
        type: "model_not_allowed",
        code: "model_not_allowed",
        message: "This key may not use the model 'test/small'. GET /v1/models lists those that it may use.",
        param: "model"
      })
    })
    assert.strictEqual((yield* chat(ask("Hi", { model: "one/twin" }), { key: secret })).status, 200)
    assert.strictEqual((yield* chat(ask("Hi", { model: "large" }), { key: secret })).status, 200)
  }).pipe(Effect.provide(app))
)

it.effect("404: an unknown route", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const missing = (route: string) => ({
      status: 404,
      headers: json,
      body: envelope({
        type: "not_found",
        code: "route_not_found",
        message: `There is no route ${route}. GET /openapi.json lists all routes.`
      })
    })
    assert.deepStrictEqual(seen(yield* send("/v1/nothing?secret=x", named())), missing("GET /v1/nothing"))
    assert.deepStrictEqual(
      seen(yield* send("/nowhere", { method: "POST", body: {}, ...named() })),
      missing("POST /nowhere")
    )
    assert.deepStrictEqual(seen(yield* send("/v1/generations/%zz", named())), missing("GET /v1/generations/%zz"))
  }).pipe(Effect.provide(app))
)

it.effect("404: an unknown model, and a bare slug that two models have", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    assert.deepStrictEqual(seen(yield* chat(ask("Hi", { model: "no/such" }), { key: secret, ...named() })), {
      status: 404,
      headers: { ...json, ...enterpriseLimits([2999, "20ms"], [4000000, "0ms"]) },
      body: envelope({
        type: "model_not_found",
        code: "model_not_found",
        message: "The model 'no/such' does not exist. GET /v1/models lists the models that exist.",
        param: "model"
      })
    })
    assert.deepStrictEqual(seen(yield* chat(ask("Hi", { model: "twin" }), { key: secret, ...named() })), {
      status: 404,
      headers: { ...json, ...enterpriseLimits([2998, "40ms"], [4000000, "0ms"]) },
      body: envelope({
        type: "model_not_found",
        code: "model_not_found",
        message: "The model 'twin' is ambiguous: name one of one/twin, two/twin.",
        param: "model",
        details: { candidates: ["one/twin", "two/twin"] }
      })
    })
    const resolved = yield* chat(ask("Hi", { model: "small" }), { key: secret })
    assert.strictEqual(JSON.parse(resolved.text).model, "test/small")
  }).pipe(Effect.provide(app))
)

it.effect("404: an unknown generation and a generation of another key have the same bytes", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const mine = yield* issueKey()
    const theirs = yield* issueKey()
    const generation = (yield* chat(ask("Hi"), { key: theirs.secret })).headers.get("x-generation-id")
    const missing = {
      status: 404,
      headers: json,
      body: envelope({ type: "not_found", code: "generation_not_found", message: "There is no such generation." })
    }
    for (const name of [generation, id("gen", 99), "gen_x", "key_x", "%00", "a".repeat(100)]) {
      assert.deepStrictEqual(seen(yield* send(`/v1/generations/${name}`, { key: mine.secret, ...named() })), missing)
    }
    assert.strictEqual((yield* send(`/v1/generations/${generation}`, { key: theirs.secret })).status, 200)
  }).pipe(Effect.provide(app))
)

it.effect("404: every provider is excluded, each with its reason", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const refused = yield* chat(ask("Hi", { provider: { data_collection: "deny", ignore: ["alpha"] } }), {
      key: secret,
      ...named()
    })
    assert.deepStrictEqual(seen(refused), {
      status: 404,
      headers: { ...json, ...enterpriseLimits([2999, "20ms"], [4000000, "0ms"]) },
      body: envelope({
        type: "no_eligible_provider",
        code: "no_eligible_provider",
        message:
          "No provider of 'test/small' is left after the request's filters: alpha (ignored), beta (data_policy).",
        details: {
          excluded: [
            { slug: "alpha", model: "test/small", reason: "ignored" },
            { slug: "beta", model: "test/small", reason: "data_policy" }
          ]
        }
      })
    })
    const excludedBy = (provider: object, content = "Hi") =>
      Effect.map(chat(ask(content, { provider }), { key: secret }), ({ text }) =>
        JSON.parse(text).error.details.excluded.map(({ reason }: { reason: string }) => reason)
      )
    assert.deepStrictEqual(yield* excludedBy({ only: ["gamma"] }), ["not_in_only", "not_in_only", "unknown_provider"])
    assert.deepStrictEqual(yield* excludedBy({ max_price: { prompt: 0.5 } }), ["max_price", "max_price"])
    assert.deepStrictEqual(yield* excludedBy({ max_price: { completion: 1.9 } }), ["max_price", "max_price"])
    assert.deepStrictEqual(yield* excludedBy({ only: ["beta"] }, "a ".repeat(50)), ["not_in_only", "context_length"])
    assert.deepStrictEqual(unknownPolicy, { training: true, retainsPrompts: true, retentionDays: null, zdr: false })
  }).pipe(Effect.provide(app))
)

it.effect("405: a known path with another method lists the allowed ones", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const refused = (allow: string) => ({
      status: 405,
      headers: { ...json, allow },
      body: envelope({
        type: "method_not_allowed",
        code: "method_not_allowed",
        message: `This path accepts ${allow}.`
      })
    })
    assert.deepStrictEqual(seen(yield* send("/v1/chat/completions", named())), refused("POST"))
    assert.deepStrictEqual(seen(yield* send("/v1/keys", { method: "DELETE", ...named() })), refused("POST, GET"))
    assert.deepStrictEqual(
      seen(yield* send("/v1/keys/key_1", { method: "PUT", body: {}, ...named() })),
      refused("GET, PATCH, DELETE")
    )
    assert.deepStrictEqual(seen(yield* send("/health", { method: "POST", body: {}, ...named() })), refused("GET"))
    assert.deepStrictEqual(seen(yield* send("/v1/embeddings", { method: "OPTIONS", ...named() })), refused("POST"))
  }).pipe(Effect.provide(app))
)

const tiers = {
  free: { requestsPerMinute: 2, tokensPerMinute: 1_000, concurrency: 1 },
  pro: { requestsPerMinute: 60, tokensPerMinute: 20, concurrency: 1 },
  enterprise: { requestsPerMinute: 60, tokensPerMinute: 600, concurrency: 1 }
}

it.effect("429: requests per minute; after Retry-After the request passes", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ tier: "free" })
    yield* chat(ask("Hi"), { key: secret })
    yield* chat(ask("Hi"), { key: secret })
    assert.deepStrictEqual(seen(yield* chat(ask("Hi"), { key: secret, ...named() })), {
      status: 429,
      headers: {
        ...json,
        "x-ratelimit-limit-requests": "2",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "996",
        "x-ratelimit-reset-tokens": "240ms",
        "retry-after": "30"
      },
      body: envelope({
        type: "rate_limit_exceeded",
        code: "requests_limit_exceeded",
        message: "The limit of 2 requests per minute is reached. Retry after the time in Retry-After.",
        retryable: true,
        retryAfter: 30,
        details: { limit: "requests", allowed: 2, holder: "key" }
      })
    })
    yield* TestClock.adjust(30_000)
    assert.strictEqual((yield* chat(ask("Hi"), { key: secret })).status, 200)
  }).pipe(
    Effect.provide(
      TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": reply } }], settings: { tiers } })
    )
  )
)

it.effect("429: tokens per minute", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ tier: "pro" })
    // The reply took 4 tokens. 16 are left, and the next prompt has 19. Its bound exceeds the
    // limit, so it has taken a request before it is counted.
    yield* chat(ask("Hi"), { key: secret })
    assert.deepStrictEqual(seen(yield* chat(ask("toll ".repeat(11)), { key: secret, ...named() })), {
      status: 429,
      headers: {
        ...json,
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "58",
        "x-ratelimit-reset-requests": "2s",
        "x-ratelimit-limit-tokens": "20",
        "x-ratelimit-remaining-tokens": "16",
        "x-ratelimit-reset-tokens": "12s",
        "retry-after": "9"
      },
      body: envelope({
        type: "rate_limit_exceeded",
        code: "tokens_limit_exceeded",
        message: "The limit of 20 tokens per minute is reached. Retry after the time in Retry-After.",
        retryable: true,
        retryAfter: 9,
        details: { limit: "tokens", allowed: 20, holder: "key" }
      })
    })
  }).pipe(
    Effect.provide(
      TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": reply } }], settings: { tiers } })
    )
  )
)

it.effect("429: concurrent requests; the slot is free after the first one has ended", () => {
  let calls = 0
  const providers = [
    {
      slug: "alpha",
      models: { "test/small": { delayMs: 5_000, ...reply } },
      onCall: () => void calls++
    }
  ]
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ tier: "enterprise" })
    const first = yield* Effect.forkChild(chat(ask("Hi"), { key: secret }), { startImmediately: true })
    yield* until(() => calls === 1)
    assert.deepStrictEqual(seen(yield* chat(ask("Ho"), { key: secret, ...named() })), {
      status: 429,
      headers: {
        ...json,
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "600",
        "x-ratelimit-remaining-tokens": "593",
        "x-ratelimit-reset-tokens": "700ms",
        "retry-after": "1"
      },
      body: envelope({
        type: "rate_limit_exceeded",
        code: "concurrency_limit_exceeded",
        message: "The limit of 1 requests at once is reached. Retry after the time in Retry-After.",
        retryable: true,
        retryAfter: 1,
        details: { limit: "concurrency", allowed: 1, holder: "key" }
      })
    })
    yield* TestClock.adjust(5_000)
    assert.strictEqual((yield* Fiber.join(first)).status, 200)
    const again = yield* chat(ask("Hi"), { key: secret })
    assert.strictEqual(again.headers.get("x-tollgate-cache"), "hit")
  }).pipe(Effect.provide(TestApp.layer({ providers, settings: { tiers } })))
})
