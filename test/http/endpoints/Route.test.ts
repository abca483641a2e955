/** The route preview: it tells what the live call would do, and has no effect. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type RoutePreview } from "../../../src/api/Route.ts"
import { allScopes } from "../../../src/domain/Key.ts"
import { ServerFault } from "../../../src/providers/Provider.ts"
import { scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { ask, helloReply } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"
import { triedOnce } from "../../support/testSettings.ts"

const calls: Array<string> = []
const onCall = (slug: string) => () => void calls.push(slug)
const priced = (id: string, prompt: number, completion: number) => ({
  ...scriptedOffer(id),
  pricing: { prompt, completion, cachedPrompt: null }
})
const zdr = { training: false, retainsPrompts: false, retentionDays: 0, zdr: true }

const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      onCall: onCall("alpha"),
      config: {
        dataPolicy: zdr,
        models: [
          {
            ...scriptedOffer("test/small"),
            pricing: {
              prompt: 2_000_000,
              completion: 4_000_000,
              cachedPrompt: 1_000_000,
              tiers: [{ abovePromptTokens: 1_000, prompt: 3_000_000, completion: 6_000_000, cachedPrompt: null }]
            }
          }
        ]
      },
      models: { "test/small": { reply: helloReply } }
    },
    {
      slug: "beta",
      onCall: onCall("beta"),
      config: { models: [priced("test/small", 1_000_000, 1_000_000), priced("test/large", 5_000_000, 5_000_000)] },
      models: {
        "test/small": { failure: new ServerFault({ status: 500, retryAfterMs: null }) },
        "test/large": { reply: helloReply }
      }
    }
  ],
  settings: {
    routing: triedOnce
  }
})

const previewed = (body: unknown, key: string) =>
  Effect.gen(function* () {
    const { status, text } = yield* (yield* TestApp).send("/v1/route/preview", { key, body })
    return { status, body: JSON.parse(text) as RoutePreview & { readonly error: { readonly type: string } | null } }
  })

it.effect("ranks, prices and excludes like the live call, which then goes to the first candidate", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const request = ask("Hi", { max_tokens: 100, models: ["test/large"], provider: { max_price: { prompt: 3 } } })
    const { body, status } = yield* previewed(request, secret)
    assert.strictEqual(status, 200)
    const unseen = { circuit: "closed" as const, success_rate: null, latency_ms: null, throughput_tps: null }
    assert.deepStrictEqual(body, {
      object: "route.preview",
      model: "test/small",
      sort: "price",
      prompt_tokens: 7,
      likely_completion_tokens: 100,
      candidates: [
        {
          provider: "beta",
          model: "test/small",
          fallback_model: false,
          expected_cost_usd: 0.000107,
          price: { prompt: 1, completion: 1, cached_prompt: null },
          ...unseen
        },
        {
          provider: "alpha",
          model: "test/small",
          fallback_model: false,
          expected_cost_usd: 0.000414,
          price: { prompt: 2, completion: 4, cached_prompt: 1 },
          ...unseen
        }
      ],
      excluded: [{ slug: "beta", model: "test/large", reason: "max_price", expected_cost_usd: 0.000535 }],
      error: null
    })
    calls.length = 0
    yield* chat(request, { key: secret })
    assert.deepStrictEqual(calls, ["beta", "alpha"])
  }).pipe(Effect.provide(app))
)

it.effect("prices a long prompt at its tier", () =>
  Effect.gen(function* () {
    const { secret } = yield* (yield* TestApp).issueKey()
    const { body } = yield* previewed(ask("word ".repeat(1_100), { max_tokens: 1 }), secret)
    assert.deepStrictEqual(body.candidates[1]?.price, { prompt: 3, completion: 6, cached_prompt: null })
    assert.closeTo(body.candidates[1]?.expected_cost_usd ?? 0, (body.prompt_tokens * 3 + 6) / 1e6, 1e-9)
  }).pipe(Effect.provide(app))
)

it.effect("calls no provider, stores no generation, and takes one request and no tokens from the limits", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey({ tier: "free", monthlyBudgetNano: 0 })
    calls.length = 0
    for (const body of [ask("Hi"), ask("toll ".repeat(2_000))]) {
      const answered = yield* send("/v1/route/preview", { key: secret, body })
      assert.strictEqual(answered.status, 200)
      assert.isNull(answered.headers.get("x-generation-id"))
      assert.strictEqual(answered.headers.get("x-ratelimit-remaining-tokens"), "40000")
    }
    const refused = yield* Effect.forEach(
      Array.from({ length: 19 }),
      () => send("/v1/route/preview", { key: secret, body: ask("Hi") }),
      { concurrency: 1 }
    )
    assert.deepStrictEqual(
      refused.map(({ status }) => status),
      [...Array.from({ length: 18 }, () => 200), 429]
    )
    assert.deepStrictEqual(calls, [])
    assert.deepStrictEqual(JSON.parse((yield* send("/v1/generations", { key: secret })).text).data, [])
  }).pipe(Effect.provide(app))
)

it.effect("shows measurements: failures demote a provider, and an open circuit is reported", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    for (let count = 0; count < 5; count++)
      yield* chat(ask(String(count), { provider: { order: ["beta"] } }), { key: secret })
    const { body } = yield* previewed(ask("Hi"), secret)
    assert.deepStrictEqual(
      body.candidates.map(({ circuit, provider, success_rate }) => [provider, circuit, success_rate]),
      [
        ["alpha", "closed", 1],
        ["beta", "open", 0]
      ]
    )
    const byPrice = yield* previewed(ask("Hi", { provider: { sort: "price" } }), secret)
    assert.strictEqual(byPrice.body.candidates[0]?.provider, "beta")
  }).pipe(Effect.provide(app))
)

it.effect("without a candidate it shows the error that the call would end with", () =>
  Effect.gen(function* () {
    const { secret } = yield* (yield* TestApp).issueKey()
    const request = ask("Hi", { provider: { data_collection: "deny", ignore: ["alpha"] } })
    const { body, status } = yield* previewed(request, secret)
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(body.candidates, [])
    assert.deepStrictEqual(
      body.excluded.map(({ reason, slug }) => [slug, reason]),
      [
        ["alpha", "ignored"],
        ["beta", "data_policy"]
      ]
    )
    assert.strictEqual(body.error?.type, "no_eligible_provider")
  }).pipe(Effect.provide(app))
)

it.effect("a whitelist and a data policy apply to fallback models too, with their reasons", () =>
  Effect.gen(function* () {
    const { secret } = yield* (yield* TestApp).issueKey({ allowedModels: ["test/small"] })
    const { body } = yield* previewed(ask("Hi", { models: ["test/large", "no/such"] }), secret)
    assert.deepStrictEqual(body.excluded, [
      { slug: "*", model: "test/large", reason: "not_allowed", expected_cost_usd: null },
      { slug: "*", model: "no/such", reason: "unknown_model", expected_cost_usd: null }
    ])
    const other = yield* (yield* TestApp).issueKey()
    const denied = yield* previewed(
      ask("Hi", { models: ["test/large"], provider: { data_collection: "deny" } }),
      other.secret
    )
    assert.deepStrictEqual(
      denied.body.candidates.map(({ provider }) => provider),
      ["alpha"]
    )
  }).pipe(Effect.provide(app))
)

it.effect("refuses an unknown model, a disallowed one, a key without the scope, and an invalid body", () =>
  Effect.gen(function* () {
    const { issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ allowedModels: ["test/*"] })
    const typeOf = (body: unknown, key: string) =>
      Effect.map(previewed(body, key), ({ body, status }) => [status, body.error?.type])
    assert.deepStrictEqual(yield* typeOf({ ...ask("Hi"), model: "test/none" }, secret), [404, "model_not_found"])
    assert.deepStrictEqual(yield* typeOf({ ...ask("Hi"), model: "other/one" }, secret), [403, "model_not_allowed"])
    assert.deepStrictEqual(yield* typeOf({ model: "test/small" }, secret), [422, "invalid_request_error"])
    const reader = yield* issueKey({ scopes: allScopes.filter((scope) => scope !== "chat:write") })
    assert.deepStrictEqual(yield* typeOf(ask("Hi"), reader.secret), [403, "permission_denied"])
    assert.deepStrictEqual(yield* typeOf(ask("Hi"), "tg-none-none"), [401, "authentication_error"])
  }).pipe(Effect.provide(app))
)
