import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, helloReply } from "../../contract/wire.ts"
import { ServerFault } from "../../../src/providers/Provider.ts"
import { scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../../support/TestApp.ts"
import { triedOnce } from "../../support/testSettings.ts"

const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      config: {
        name: "Alpha Cloud",
        dataPolicy: { training: false, retainsPrompts: false, retentionDays: 0, zdr: true },
        models: [
          {
            ...scriptedOffer("test/small"),
            contextLength: 8_000,
            aliases: { "small-2026": "small" },
            pricing: { prompt: 150_000, completion: 600_000, cachedPrompt: 75_000 }
          },
          { ...scriptedOffer("open/embed"), embeddings: true, contextLength: null, maxCompletionTokens: null }
        ]
      },
      models: { "test/small": { reply: helloReply } }
    },
    {
      slug: "beta",
      config: {
        dataPolicy: { training: false, retainsPrompts: true, retentionDays: 30, zdr: false },
        models: [
          {
            ...scriptedOffer("test/small"),
            pricing: {
              ...scriptedOffer("test/small").pricing,
              tiers: [{ abovePromptTokens: 1_000, prompt: 2_000_000, completion: 3_000_000, cachedPrompt: 500_000 }]
            }
          }
        ]
      },
      models: { "test/small": { failure: new ServerFault({ status: 500, retryAfterMs: null }) } }
    },
    { slug: "gamma", models: { "test/large": { reply: helloReply } } }
  ],
  settings: {
    routing: {
      ...triedOnce,
      aliases: {
        swift: [
          { model: "test/large", weight: 1 },
          { model: "test/small", weight: 2 }
        ],
        "test/large": [{ model: "test/small", weight: 1 }]
      }
    }
  }
})

const listed = (key: string) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { status, text } = yield* send("/v1/models", { key })
    assert.strictEqual(status, 200)
    return JSON.parse(text)
  })

it.effect("lists the operator's aliases behind the models, of the models that the key may use", () =>
  Effect.gen(function* () {
    const { issueKey } = yield* TestApp
    const aliases = (allowedModels: ReadonlyArray<string> | null) =>
      Effect.gen(function* () {
        const { data } = yield* listed((yield* issueKey({ allowedModels })).secret)
        return data.flatMap(({ alias_of, canonical_slug, display_name, id }: Record<string, unknown>) =>
          alias_of === undefined ? [] : [[id, display_name, canonical_slug, alias_of]]
        )
      })
    assert.deepStrictEqual(yield* aliases(null), [["swift", "swift", "test/small", ["test/small", "test/large"]]])
    assert.deepStrictEqual(yield* aliases(["test/large"]), [["swift", "swift", "test/large", ["test/large"]]])
    assert.deepStrictEqual(yield* aliases(["test/small"]), [
      ["swift", "swift", "test/small", ["test/small"]],
      ["test/large", "test/large", "test/small", ["test/small"]]
    ])
    assert.deepStrictEqual(yield* aliases(["open/*"]), [])
  }).pipe(Effect.provide(app))
)

it.effect("lists OpenAI's members and OpenRouter's, and the providers of each model with their data policies", () =>
  Effect.gen(function* () {
    const { issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const list = yield* listed(secret)
    assert.strictEqual(list.object, "list")
    assert.deepStrictEqual(
      list.data.map(({ id, object, owned_by }: Record<string, string>) => [id, object, owned_by]),
      [
        ["open/embed", "model", "open"],
        ["test/large", "model", "test"],
        ["test/small", "model", "test"],
        ["swift", "model", "test"]
      ]
    )
    const [embed, , small] = list.data
    assert.deepInclude(small, {
      context_length: 128_000,
      pricing: { prompt: "0.00000015", completion: "0.0000006", input_cache_read: "0.000000075" },
      top_provider: { context_length: 128_000, max_completion_tokens: 16_384, is_moderated: false }
    })
    assert.include(small.supported_parameters, "tools")
    assert.deepStrictEqual(small.providers, [
      {
        slug: "alpha",
        name: "Alpha Cloud",
        pricing: { prompt: "0.00000015", completion: "0.0000006", input_cache_read: "0.000000075" },
        context_length: 8_000,
        max_completion_tokens: 16_384,
        data_policy: { training: false, retains_prompts: false, retention_days: 0, zdr: true },
        tags: ["no-training", "zdr"],
        status: "ok",
        uptime: null,
        latency_ms: null,
        throughput_tps: null
      },
      {
        slug: "beta",
        name: "beta",
        pricing: {
          prompt: "0.000001",
          completion: "0.000002",
          tiers: [
            { above_prompt_tokens: 1_000, prompt: "0.000002", completion: "0.000003", input_cache_read: "0.0000005" }
          ]
        },
        context_length: 128_000,
        max_completion_tokens: 16_384,
        data_policy: { training: false, retains_prompts: true, retention_days: 30, zdr: false },
        tags: ["no-training"],
        status: "ok",
        uptime: null,
        latency_ms: null,
        throughput_tps: null
      }
    ])
    assert.deepStrictEqual(list.data[1].providers[0].tags, [], "an unknown policy counts as training and retaining")
    assert.deepInclude(embed, { context_length: null })
    assert.strictEqual(embed.architecture.modality, "text->embeddings")
  }).pipe(Effect.provide(app))
)

it.effect("has what OpenAI's and Anthropic's clients read of a list and of a model", () =>
  Effect.gen(function* () {
    const { issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const list = yield* listed(secret)
    assert.deepInclude(list, { has_more: false, first_id: "open/embed", last_id: "swift", total_count: 4 })
    const { created, created_at, display_name, name, type } = list.data[0]
    assert.deepStrictEqual([display_name, name, type], ["open/embed", "open/embed", "model"])
    assert.isAbove(created, 1_700_000_000)
    assert.strictEqual(Date.parse(created_at), created * 1000)
  }).pipe(Effect.provide(app))
)

it.effect("one model by its id, with a plain slash or an escaped one, and by its other names", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const [, , small] = (yield* listed(secret)).data
    for (const name of ["test/small", "test%2Fsmall", "small", "swift", "small-2026", "test/small-2026"]) {
      const { status, text } = yield* send(`/v1/models/${name}`, { key: secret })
      assert.strictEqual(status, 200, name)
      assert.deepStrictEqual(JSON.parse(text), small, name)
    }
    const missing = yield* send("/v1/models/test%2Fsmal", { key: secret })
    assert.strictEqual(missing.status, 404)
    assert.deepInclude(JSON.parse(missing.text).error, {
      code: "model_not_found",
      message:
        "The model 'test/smal' does not exist. Did you mean 'test/small'? GET /v1/models lists the models that exist."
    })
    const narrow = yield* issueKey({ allowedModels: ["test/large"] })
    const denied = yield* send("/v1/models/test/small", { key: narrow.secret })
    assert.strictEqual(denied.status, 403)
    assert.strictEqual(JSON.parse(denied.text).error.code, "model_not_allowed")
    assert.notInclude((yield* send("/v1/models/test/smal", { key: narrow.secret })).text, "Did you mean")
    assert.strictEqual((yield* send("/v1/models/test/small", {})).status, 401)
  }).pipe(Effect.provide(app))
)

it.effect("only the models that the key may use", () =>
  Effect.gen(function* () {
    const { issueKey } = yield* TestApp
    const ids = (allowedModels: ReadonlyArray<string> | null) =>
      Effect.gen(function* () {
        const { secret } = yield* issueKey({ allowedModels })
        return (yield* listed(secret)).data.map(({ id }: { id: string }) => id)
      })
    assert.deepStrictEqual(yield* ids(["test/*"]), ["test/large", "test/small", "swift"])
    assert.deepStrictEqual(yield* ids(["open/embed", "no/such"]), ["open/embed"])
    assert.deepStrictEqual(yield* ids([]), [])
  }).pipe(Effect.provide(app))
)

it.effect("shows a provider's failures, and reports it as down while its circuit is open", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    for (let count = 0; count < 5; count++) {
      yield* chat(ask(String(count), { provider: { order: ["beta"] } }), { key: secret })
    }
    const [alpha, beta] = (yield* listed(secret)).data[2].providers
    assert.deepInclude(alpha, { status: "ok", uptime: 1, latency_ms: { p50: 0, p99: 0 } })
    assert.deepInclude(beta, { status: "down", uptime: 0, latency_ms: null })
  }).pipe(Effect.provide(app))
)
