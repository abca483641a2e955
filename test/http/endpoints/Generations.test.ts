import * as KeyRepoSql from "../../../src/store/keys/KeyRepoSql.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { advanceThrough, until } from "../../contract/clock.ts"
import { ask, helloReply, id } from "../../contract/wire.ts"
import { CredentialsRefused, ServerFault } from "../../../src/providers/Provider.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { testSettings } from "../../support/testSettings.ts"
import { TestApp } from "../../support/TestApp.ts"

const app = TestApp.layer({
  providers: [
    { slug: "alpha", models: { "test/small": { failure: new ServerFault({ status: 500, retryAfterMs: null }) } } },
    { slug: "beta", models: { "test/small": { reply: helloReply }, "test/large": { reply: helloReply } } }
  ],
  settings: { markup: 0.2 }
})

const read = (path: string, key: string) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    return JSON.parse((yield* send(path, { key })).text)
  })

it.effect("a generation: the record of the specification, and its receipt", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ monthlyBudgetNano: 1_000_000_000 })
    const answered = yield* chat(ask("Hi", { max_tokens: 10, provider: { max_price: { prompt: 5 } } }), { key: secret })
    const record = yield* read(`/v1/generations/${answered.headers.get("x-generation-id")}`, secret)
    assert.deepStrictEqual(record, {
      id: id("gen", 4),
      model: "test/small",
      provider: "beta",
      request_id: id("req", 3),
      endpoint: "POST /v1/chat/completions",
      status: 200,
      created_at: "1970-01-01T00:00:00.000Z",
      usage: {
        prompt_tokens: 3,
        completion_tokens: 1,
        total_tokens: 4,
        estimated_cost_usd: 0.000006,
        cost: 0.000006,
        cached_tokens: 0,
        cache_discount_usd: 0,
        cache_hit: false,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 }
      },
      cost: {
        prompt_cost_usd: 0.000003,
        completion_cost_usd: 0.000002,
        cache_discount_usd: 0,
        total_cost_usd: 0.000005,
        markup_usd: 0.000001,
        billed_usd: 0.000006
      },
      latency_ms: 0,
      fallback_used: true,
      cache_hit: false,
      attempts: [
        {
          provider: "alpha",
          model: "test/small",
          status: "error",
          latency_ms: 0,
          error_type: "server_error",
          http_status: 500,
          started_ms: 0,
          ended_ms: 0,
          wait_ms: 0,
          prompt_tokens: 0,
          completion_tokens: 0,
          cost_usd: 0
        },
        {
          provider: "beta",
          model: "test/small",
          status: "ok",
          latency_ms: 0,
          error_type: null,
          http_status: 200,
          started_ms: 0,
          ended_ms: 0,
          wait_ms: 0,
          prompt_tokens: 3,
          completion_tokens: 1,
          cost_usd: 0.000005
        }
      ],
      excluded: [],
      dropped: [],
      parameters: { max_tokens: 10, "provider.allow_fallbacks": true, messages: 1 },
      masked: {},
      finish_reason: "stop",
      error_type: null,
      streamed: false,
      cancelled: false,
      time_to_first_token_ms: null,
      usage_source: "provider",
      price: { prompt: 1, completion: 2, cached_prompt: null },
      lines: [
        { class: "prompt", quantity: 3, price: 1, cost_usd: 0.000003 },
        { class: "completion", quantity: 1, price: 2, cost_usd: 0.000002 }
      ],
      service_tier: null,
      sticky: "new",
      reservation: { reserved_usd: 0.0000324, extended_usd: 0, settled_usd: 0.000006 }
    })
    assert.deepStrictEqual(record.usage, JSON.parse(answered.text).usage)
  }).pipe(Effect.provide(app))
)

const heard: Array<string> = []
const waiting = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      onCall: () => void heard.push("alpha"),
      models: { "test/small": { delayMs: 40, failure: new CredentialsRefused({ status: 401 }) } }
    },
    {
      slug: "beta",
      models: {
        "test/small": [
          { delayMs: 100, failure: new ServerFault({ status: 500, retryAfterMs: null }) },
          { delayMs: 200, reply: helloReply }
        ]
      }
    }
  ],
  settings: { privacy: { ...testSettings.privacy, mode: "mask" } }
})

it.effect("a receipt has the times of each attempt, the pauses between them, the parameters and what was masked", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const body = ask("Write to ann@example.com", {
      temperature: 0.5,
      reasoning_effort: "low",
      stop: "a text of the client",
      provider: { sort: "price", order: ["alpha"] }
    })
    const asked = yield* Effect.forkChild(chat(body, { key: secret }))
    yield* until(() => heard.length === 1)
    const answered = yield* advanceThrough(asked, 10)
    const record = yield* read(`/v1/generations/${answered.headers.get("x-generation-id")}`, secret)
    assert.deepStrictEqual(
      record.attempts.map((one: Record<string, unknown>) =>
        ["provider", "started_ms", "ended_ms", "wait_ms", "cost_usd"].map((name) => one[name])
      ),
      [
        ["alpha", 0, 40, 0, 0],
        ["beta", 40, 140, 0, 0],
        ["beta", 390, 590, 250, 0.000005]
      ]
    )
    assert.strictEqual(record.latency_ms, 590)
    assert.deepStrictEqual(record.masked, { email: 1 })
    assert.deepStrictEqual(record.parameters, {
      temperature: 0.5,
      reasoning_effort: "low",
      "provider.sort": "price",
      "provider.allow_fallbacks": true,
      messages: 1
    })
  }).pipe(Effect.provide(waiting))
)

const billed = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      config: {
        models: [
          {
            ...scriptedOffer("test/small"),
            pricing: {
              prompt: 2_000_000,
              completion: 8_000_000,
              cachedPrompt: 200_000,
              rare: { cache_write: 2_500_000, web_search: 10_000_000_000 },
              serviceTiers: { flex: 0.5 }
            }
          }
        ]
      },
      models: {
        "test/small": {
          reply: {
            ...helloReply,
            usage: {
              promptTokens: 100,
              completionTokens: 10,
              cachedTokens: 30,
              reasoningTokens: 4,
              rare: { cache_write: 40, prompt_audio: 20, web_search: 2 },
              serviceTier: "flex"
            }
          }
        }
      }
    }
  ]
})

it.effect("a receipt has a line for each class of tokens and for fees, and their sum is the total", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const answered = yield* chat(ask("Hi"), { key: secret })
    const record = yield* read(`/v1/generations/${answered.headers.get("x-generation-id")}`, secret)
    assert.deepStrictEqual(record.lines, [
      { class: "prompt", quantity: 10, price: 1, cost_usd: 0.00001 },
      { class: "cached_prompt", quantity: 30, price: 0.1, cost_usd: 0.000003 },
      { class: "cache_write", quantity: 40, price: 1.25, cost_usd: 0.00005 },
      // The model has no price for audio: its dearest is that of the completion.
      { class: "prompt_audio", quantity: 20, price: 4, cost_usd: 0.00008, assumed: true },
      { class: "completion", quantity: 10, price: 4, cost_usd: 0.00004 },
      { class: "web_search", quantity: 2, price: 10, cost_usd: 0.02 }
    ])
    assert.strictEqual(record.service_tier, "flex")
    assert.deepStrictEqual(record.cost, {
      prompt_cost_usd: 0.00017,
      completion_cost_usd: 0.00004,
      cache_discount_usd: 0.000027,
      fees_usd: 0.02,
      total_cost_usd: 0.020183,
      markup_usd: 0,
      billed_usd: 0.020183
    })
    assert.deepInclude(record.usage, {
      cost: 0.020183,
      prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 40, audio_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 4, audio_tokens: 0 },
      server_tool_use: { web_search_requests: 2 }
    })
    assert.deepStrictEqual(record.usage, JSON.parse(answered.text).usage)
    const { total } = yield* read("/v1/usage", secret)
    assert.deepInclude(total, { total_cost_usd: 0.020183, billed_usd: 0.020183 })
  }).pipe(Effect.provide(billed))
)

it.effect("the list: the key's own, newest first, by page, time and model", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const other = yield* issueKey()
    yield* chat(ask("theirs", { model: "test/large" }), { key: other.secret })
    const made: Array<string | null> = []
    for (let count = 0; count < 5; count++) {
      const model = count % 2 === 0 ? "test/large" : "test/small"
      made.unshift((yield* chat(ask(String(count), { model }), { key: secret })).headers.get("x-generation-id"))
      yield* TestClock.adjust("1 minute")
    }
    const ids = (path: string) =>
      Effect.map(read(path, secret), ({ data }) => data.map((record: { id: string }) => record.id))
    assert.deepStrictEqual(yield* ids("/v1/generations"), made)
    const seen: Array<string> = []
    let cursor = ""
    do {
      const page = yield* read(`/v1/generations?limit=2${cursor}`, secret)
      seen.push(...page.data.map((record: { id: string }) => record.id))
      assert.strictEqual(page.has_more, page.next_cursor !== null)
      cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`
    } while (cursor !== "")
    assert.deepStrictEqual(seen, made)
    assert.deepStrictEqual(yield* ids("/v1/generations?model=test/small"), [made[1], made[3]])
    assert.deepStrictEqual(yield* ids("/v1/generations?from=1970-01-01T00:01:00Z&to=1970-01-01T00:03:00Z"), [
      made[2],
      made[3]
    ])
    assert.deepStrictEqual(yield* ids("/v1/generations?model=no/such"), [])
  }).pipe(Effect.provide(app))
)

it.effect("names that a database cannot store do not prevent settlement, whole or streamed", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey({ monthlyBudgetNano: 1_000_000_000 })
    for (const stream of [false, true]) {
      const body = JSON.stringify(ask(`Hi ${stream}`, { stream, models: ["\0", "\ud800", "a\0b"] }))
      const answered = yield* chat(body, { key: secret, headers: { "content-type": "application/json" } })
      assert.strictEqual(answered.status, 200)
      const record = yield* read(`/v1/generations/${answered.headers.get("x-generation-id")}`, secret)
      assert.deepStrictEqual([record.streamed, record.excluded, record.error_type], [stream, [], null])
    }
    const { usage } = yield* read("/v1/key", secret)
    assert.strictEqual(usage.month_reserved_usd, 0)
    assert.isAbove(usage.month_spent_usd, 0)
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }],
        stores: Layer.merge(KeyRepoSql.layer, LedgerSql.layer).pipe(Layer.provide(layerPglite))
      })
    )
  )
)

it.effect("of a running request: 409 with Retry-After, for the key and the admin", () =>
  Effect.gen(function* () {
    const { adminKey, chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const running = yield* Effect.forkChild(chat(ask("Hi", { stream: true }), { key: secret }))
    const generation = id("gen", 4)
    const known = Effect.flatMap(GenerationStore, (store) => store.find(generation, null))
    yield* Effect.repeat(Effect.andThen(Effect.yieldNow, known), { until: Option.isSome })
    for (const [path, sent] of [
      [`/v1/generations/${generation}`, { key: secret }],
      [`/v1/admin/generations/${generation}`, { headers: { "x-admin-key": adminKey } }]
    ] as const) {
      const reading = yield* Effect.forkChild(send(path, sent))
      yield* Effect.repeat(Effect.andThen(TestClock.adjust("100 millis"), yieldToNetwork), {
        until: () => reading.pollUnsafe() !== undefined
      })
      const answered = yield* Fiber.join(reading)
      assert.deepStrictEqual([answered.status, answered.headers.get("retry-after")], [409, "2"])
      assert.deepInclude(JSON.parse(answered.text).error, {
        type: "generation_running",
        code: "generation_running",
        retryable: true,
        retry_after: 2
      })
    }
    yield* Fiber.interrupt(running)
  }).pipe(Effect.provide(TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { hangs: true } } }] })))
)

const yieldToNetwork = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
