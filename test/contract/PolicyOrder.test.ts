/**
 * The first policy that refuses determines the response. The order that all surfaces have is in
 * Surfaces.test.ts.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ApiKeys } from "../../src/gateway/keys/ApiKeys.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, helloReply } from "./wire.ts"

const tiers = {
  free: { requestsPerMinute: 1, tokensPerMinute: 40_000, concurrency: 4 },
  pro: { requestsPerMinute: 300, tokensPerMinute: 400_000, concurrency: 32 },
  enterprise: { requestsPerMinute: 3_000, tokensPerMinute: 4_000_000, concurrency: 256 }
}

it.effect("checks the budget before the whitelist, and the whitelist before the cache", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issueKey()
    const status = Effect.map(chat(ask("Hi"), { key: secret }), (answered) => [
      answered.status,
      answered.headers.get("x-tollgate-cache")
    ])
    assert.deepStrictEqual(yield* status, [200, "miss"])
    assert.deepStrictEqual(yield* status, [200, "hit"])
    yield* accounts.change(id, { allowedModels: ["other/*"] })
    assert.deepStrictEqual(yield* status, [403, null])
    yield* accounts.change(id, { monthlyBudgetNano: 1 })
    assert.deepStrictEqual(yield* status, [402, null])
  }).pipe(
    Effect.provide(TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] }))
  )
)

it.effect("checks the policies before a routing error: 429, 402, whitelist 403, then the routing error", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const accounts = yield* ApiKeys
    const unroutable = {
      "unknown model": [ask("Hi", { model: "no/such" }), "404 model_not_found"],
      "impossible filter": [ask("Hi", { provider: { only: ["nobody"] } }), "404 no_eligible_provider"],
      "an embeddings model": [ask("Hi", { model: "test/embed" }), "404 no_eligible_provider"],
      "too long for every provider": [ask("toll ".repeat(9_000)), "400 context_length_exceeded"]
    } as const
    const answered = (body: unknown, key: string) =>
      Effect.map(chat(body, { key }), ({ status, text }) => `${status} ${JSON.parse(text).error?.code}`)
    for (const [name, [body, own]] of Object.entries(unroutable)) {
      const { id, secret } = yield* issueKey({ tier: "pro", monthlyBudgetNano: 0, allowedModels: ["other/*"] })
      assert.strictEqual(yield* answered(body, secret), "402 monthly_budget_exceeded", name)
      yield* accounts.change(id, { monthlyBudgetNano: null })
      assert.strictEqual(yield* answered(body, secret), "403 model_not_allowed", name)
      yield* accounts.change(id, { allowedModels: null })
      assert.strictEqual(yield* answered(body, secret), own, name)
      assert.strictEqual(yield* answered(body, secret), "429 requests_limit_exceeded", name)
    }
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [
          {
            slug: "alpha",
            config: {
              models: [
                { ...scriptedOffer("test/small"), contextLength: 8_000 },
                { ...scriptedOffer("test/embed"), embeddings: true }
              ]
            },
            models: { "test/small": { reply: helloReply } }
          }
        ],
        settings: { tiers: { ...tiers, pro: { ...tiers.pro, requestsPerMinute: 3 } } }
      })
    )
  )
)

it.effect("refuses at once a prompt that exceeds the tokens of a whole minute", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ tier: "free" })
    const refused = yield* chat(ask("toll ".repeat(41_000)), { key: secret })
    assert.deepStrictEqual(
      [refused.status, refused.headers.get("x-should-retry"), refused.headers.get("retry-after")],
      [429, "false", null]
    )
    const { error } = JSON.parse(refused.text)
    assert.deepInclude(error, { code: "tokens_limit_exceeded", retryable: false })
    assert.match(
      error.message,
      /^The prompt has 4\d{4} tokens or more, and the limit is 40000 tokens per minute\. Shorten/
    )
    assert.strictEqual(refused.headers.get("x-ratelimit-remaining-tokens"), "40000")
  }).pipe(
    Effect.provide(TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] }))
  )
)
