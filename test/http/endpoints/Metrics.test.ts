import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ApiKeys } from "../../../src/gateway/keys/ApiKeys.ts"
import { ask, delta, end, finish, helloReply } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"
import { triedOnce } from "../../support/testSettings.ts"
import { broken } from "../../gateway/scripts.ts"

const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      models: {
        "test/small": {
          reply: helloReply,
          events: [40, delta({ content: "Hel" }), 30, delta({ content: "lo" }), finish(), end]
        },
        "test/broken": broken
      }
    }
  ],
  settings: {
    routing: triedOnce
  }
})

/** The samples of `/metrics`, by name and labels. */
const metrics = Effect.gen(function* () {
  const { adminKey, send } = yield* TestApp
  const { headers, status, text } = yield* send("/metrics", { headers: { "x-admin-key": adminKey } })
  assert.deepStrictEqual([status, headers.get("content-type")], [200, "text/plain; version=0.0.4; charset=utf-8"])
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
  return {
    text,
    at: (name: string) =>
      Number(
        samples
          .find((line) => line.startsWith(`${name} `))
          ?.split(" ")
          .at(-1)
      )
  }
})

const chatRoute = (status: number) =>
  `{http_request_method="POST",http_route="/v1/chat/completions",http_response_status_code="${status}"}`
const small = `gen_ai_provider_name="alpha",gen_ai_response_model="test/small"`

it.effect("need the admin key", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    for (const headers of [{}, { "x-admin-key": "tga-another-admin-key" }]) {
      const { status, text } = yield* send("/metrics", { headers })
      assert.deepStrictEqual([status, JSON.parse(text).error.type], [401, "authentication_error"])
    }
  }).pipe(Effect.provide(app))
)

it.effect("count requests, tokens, money, cache hits, attempts and rejections", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    yield* chat(ask("Hi"), { key })
    yield* chat(ask("Hi"), { key })
    yield* chat(ask("Hi", { model: "test/broken" }), { key })
    yield* chat(ask("Hi"), { key: (yield* issueKey({ monthlyBudgetNano: 0 })).secret })
    yield* chat(ask("Hi"), { key: (yield* issueKey({ allowedModels: ["a/b"] })).secret })
    yield* chat(ask("Hi"))
    yield* send("/nowhere")
    const { at } = yield* metrics
    const expected: ReadonlyArray<readonly [string, number]> = [
      [`tollgate_requests_total${chatRoute(200)}`, 2],
      [`tollgate_requests_total${chatRoute(502)}`, 1],
      [`tollgate_requests_total${chatRoute(402)}`, 1],
      [`tollgate_requests_total${chatRoute(403)}`, 1],
      [`tollgate_requests_total${chatRoute(401)}`, 1],
      [`tollgate_requests_total{http_request_method="GET",http_route="unmatched",http_response_status_code="404"}`, 1],
      [`http_server_request_duration_seconds_count${chatRoute(200)}`, 2],
      [`tollgate_requests_active`, 1],
      [`tollgate_rejections_total{policy="budget"}`, 1],
      [`tollgate_rejections_total{policy="model"}`, 1],
      [`tollgate_cache_lookups_total{result="hit"}`, 1],
      [`tollgate_cache_lookups_total{result="miss"}`, 2],
      [`tollgate_cache_saved_usd_total{${small}}`, 0.000005],
      [`tollgate_cost_usd_total{${small}}`, 0.000005],
      [`tollgate_provider_attempts_total{${small},status="ok"}`, 1],
      [
        `tollgate_provider_attempts_total{gen_ai_provider_name="alpha",gen_ai_response_model="test/broken",status="error",error_type="server_error"}`,
        1
      ],
      [`gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",${small},gen_ai_token_type="input"}`, 3],
      [`gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",${small},gen_ai_token_type="output"}`, 1],
      [`gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",${small}}`, 1]
    ]
    for (const [name, value] of expected) assert.strictEqual(at(name), value, name)
  }).pipe(Effect.provide(app))
)

it.effect("measure a stream's time to first token and its rate", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const asked = yield* Effect.forkChild(chat(ask("Hi", { stream: true }), { key }))
    while (asked.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((later) => setImmediate(later)))
      yield* TestClock.adjust("10 millis")
    }
    const { at } = yield* metrics
    const first = at(`gen_ai_server_time_to_first_token_seconds_sum{gen_ai_operation_name="chat",${small}}`)
    const pace = at(`gen_ai_server_time_per_output_token_seconds_sum{gen_ai_operation_name="chat",${small}}`)
    assert.isAtLeast(first, 0.04)
    assert.isAtLeast(pace, 0.03)
  }).pipe(Effect.provide(app))
)

it.effect("report circuits, the ledger, keys and the use of their budgets", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const accounts = yield* ApiKeys
    const { id, secret: key } = yield* issueKey({ monthlyBudgetNano: 100_000 })
    yield* issueKey({ monthlyBudgetNano: 0 })
    yield* issueKey({ monthlyBudgetNano: 1_000_000 })
    yield* chat(ask("Hi", { max_tokens: 1 }), { key })
    yield* accounts.change(id, { monthlyBudgetNano: 6_000 })
    const unlimited = yield* issueKey()
    for (let count = 0; count < 5; count++) {
      yield* chat(ask("Hi", { model: "test/broken" }), { key: unlimited.secret })
    }
    yield* TestClock.adjust("500 millis")
    const { at } = yield* metrics
    assert.strictEqual(at(`tollgate_circuit_state{${small}}`), 0)
    assert.strictEqual(
      at(`tollgate_circuit_state{gen_ai_provider_name="alpha",gen_ai_response_model="test/broken"}`),
      2
    )
    assert.strictEqual(at("tollgate_ledger_pending"), 0)
    assert.strictEqual(at("tollgate_ledger_flush_lag_seconds"), 0)
    assert.strictEqual(at(`tollgate_keys{status="active"}`), 4)
    const inBand = (band: string) => at(`tollgate_budget_keys{used_percent="${band}"}`)
    assert.deepStrictEqual(["0-50", "50-80", "80-100", "exhausted"].map(inBand), [1, 0, 1, 1])
  }).pipe(Effect.provide(app))
)

it.effect("never show a key, an id or a client's text", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { id, secret: key } = yield* issueKey()
    yield* chat(ask("confidential prompt", { user: "confidential-user" }), { key })
    yield* chat(ask("Hi", { model: "confidential/model" }), { key })
    yield* chat(ask("Hi", { models: ["confidential/fallback"], provider: { order: ["confidential-slug"] } }), { key })
    yield* send("/v1/generations/confidential-id?confidential=query", { key, headers: { "x-request-id": "confid" } })
    yield* send("/confidential/path", { method: "PUT", key })
    const { text } = yield* metrics
    assert.notInclude(text, "confid")
    for (const hidden of [id, key, "gen_0", "req_0"]) assert.notInclude(text, hidden)
    // An unknown model creates no series.
    assert.notInclude(text, `gen_ai_response_model=""`)
  }).pipe(Effect.provide(app))
)
