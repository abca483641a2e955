import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ask } from "../../contract/wire.ts"
import { ApiKeys } from "../../../src/gateway/keys/ApiKeys.ts"
import { TestApp } from "../../support/TestApp.ts"
import { readAsAdmin, reportedApp } from "./reports.ts"

const app = reportedApp()

const overview = Effect.gen(function* () {
  const { body, status, text } = yield* readAsAdmin("/v1/admin/overview")
  assert.strictEqual(status, 200)
  return { body, text }
})

it.effect("the overview without any requests", () =>
  Effect.gen(function* () {
    yield* TestClock.adjust("90 seconds")
    assert.deepStrictEqual((yield* overview).body, {
      generated_at: "1970-01-01T00:01:30.000Z",
      version: "0.1.0",
      uptime_s: 90,
      requests: { last_5m: 0, last_24h: 0, refused_24h: {}, error_rate: 0, by_status: {} },
      latency_ms: { p50: null, p95: null, p99: null, gateway_overhead_p99: null },
      spend_usd: { today: 0, month: 0, reserved: 0, by_model: [] },
      cache: { hit_rate: null, entries: 0, saved_usd: 0 },
      keys: { active: 0, disabled: 0, expired: 0, revoked: 0, by_tier: { free: 0, pro: 0, enterprise: 0 } },
      providers: [{ slug: "alpha", state: "closed", success_rate: 1, ttft_p50_ms: null, open_until: null }],
      rejections: { rate_limit: 0, budget: 0, model: 0, privacy: 0 },
      ledger: { pending: 0, oldest_pending_s: null, flush_lag_ms: 0 }
    })
  }).pipe(Effect.provide(app))
)

it.effect("figures of requests, money, cache, keys, providers and rejections; no secret, prompt or hash", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const accounts = yield* ApiKeys
    const { id, secret } = yield* issueKey()
    const free = yield* issueKey({ tier: "free", monthlyBudgetNano: 0, allowedModels: ["a/b"] })
    const gone = yield* issueKey({ tier: "pro" })
    yield* accounts.revoke(gone.id)
    yield* chat(ask("confidential"), { key: secret })
    yield* chat(ask("confidential"), { key: secret })
    for (let count = 0; count < 5; count++) yield* chat(ask("Hi", { model: "test/broken" }), { key: secret })
    yield* chat(ask("Hi"), { key: free.secret })
    yield* accounts.change(free.id, { monthlyBudgetNano: null })
    yield* chat(ask("Hi"), { key: free.secret })
    const { body, text } = yield* overview
    assert.deepStrictEqual(body.requests, {
      last_5m: 7,
      last_24h: 7,
      refused_24h: {},
      error_rate: 5 / 7,
      by_status: { "200": 2, "402": 1, "403": 1, "502": 5 }
    })
    assert.deepStrictEqual(body.spend_usd, {
      today: 0.000005,
      month: 0.000005,
      reserved: 0,
      by_model: [
        { model: "test/small", spend_usd: 0.000005, requests: 2 },
        { model: "test/broken", spend_usd: 0, requests: 5 }
      ]
    })
    assert.deepStrictEqual(body.cache, { hit_rate: 1 / 7, entries: 1, saved_usd: 0.000005 })
    assert.deepStrictEqual(body.keys, {
      active: 2,
      disabled: 0,
      expired: 0,
      revoked: 1,
      by_tier: { free: 1, pro: 0, enterprise: 1 }
    })
    assert.deepStrictEqual(body.providers, [
      {
        slug: "alpha",
        state: "open",
        success_rate: 1 / 6,
        ttft_p50_ms: null,
        open_until: "1970-01-01T00:00:01.000Z"
      }
    ])
    assert.deepStrictEqual(body.rejections, { rate_limit: 0, budget: 1, model: 1, privacy: 0 })
    assert.deepStrictEqual(body.ledger, { pending: 0, oldest_pending_s: null, flush_lag_ms: 0 })
    const key = yield* accounts.get(id)
    for (const hidden of ["confidential", secret, key.key.secretHash, key.key.publicId]) {
      assert.notInclude(text, hidden)
    }
    // Refusals are written within a second.
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual((yield* overview).body.requests.refused_24h, { budget_exceeded: 1, model_not_allowed: 1 })
  }).pipe(Effect.provide(app))
)
