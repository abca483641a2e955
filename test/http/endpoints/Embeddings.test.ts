import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { id } from "../../contract/wire.ts"
import { scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../../support/TestApp.ts"

const vectors = [
  [0.5, -1],
  [0.1, 3]
]
const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      config: {
        models: [
          ...["test/embed", "test/counted"].map((id) => ({ ...scriptedOffer(id), embeddings: true })),
          scriptedOffer("test/small")
        ]
      },
      models: {
        "test/counted": { vectors: { vectors, usage: null } },
        "test/embed": { vectors: { vectors, usage: { promptTokens: 4, completionTokens: 0, cachedTokens: 0 } } }
      }
    }
  ]
})

const embedded = (members: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const body = { model: "test/embed", input: ["a", "b"], ...members }
    const answered = yield* send("/v1/embeddings", { body, key: secret })
    return { ...answered, secret, body: JSON.parse(answered.text) }
  })

it.effect("returns the vectors in the order of the inputs, byte by byte, and a readable generation", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { headers, secret, status, text } = yield* embedded({})
    assert.strictEqual(status, 200)
    assert.strictEqual(
      text,
      '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,-1]},{"object":"embedding","index":1,"embedding":[0.1,3]}],"model":"test/embed","provider":"alpha","usage":{"prompt_tokens":4,"completion_tokens":0,"total_tokens":4,"estimated_cost_usd":0.000004,"cost":0.000004,"cached_tokens":0,"cache_discount_usd":0,"cache_hit":false,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}}'
    )
    assert.strictEqual(headers.get("x-generation-id"), id("gen", 4))
    const record = JSON.parse((yield* send(`/v1/generations/${id("gen", 4)}`, { key: secret })).text)
    assert.deepInclude(record, { model: "test/embed", provider: "alpha", usage_source: "provider" })
  }).pipe(Effect.provide(app))
)

it.effect("token ids are taken, and each counts as a token", () =>
  Effect.gen(function* () {
    const { body, status } = yield* embedded({ model: "test/counted", input: [[9906, 1917], [0]] })
    assert.strictEqual(status, 200)
    assert.lengthOf(body.data, 2)
    assert.strictEqual(body.usage.prompt_tokens, 3)
  }).pipe(Effect.provide(app))
)

it.effect.each([
  ["a number", 5],
  ["no ids", []],
  ["an empty list of ids", [[]]],
  ["an id that is no whole number", [1.5]],
  ["a negative id", [[-1]]],
  ["ids beside texts", ["a", 1]],
  ["an object", [{}]]
] as const)("%s as input is refused", ([, input]) =>
  Effect.gen(function* () {
    const { body, status } = yield* embedded({ input })
    assert.strictEqual(status, 422)
    assert.strictEqual(body.error.param, "input")
  }).pipe(Effect.provide(app))
)

it.effect("base64 is little-endian float32", () =>
  Effect.gen(function* () {
    const { body } = yield* embedded({ encoding_format: "base64", dimensions: 2, user: "ann" })
    const decoded = body.data.map(({ embedding }: { embedding: string }) => {
      const bytes = Buffer.from(embedding, "base64")
      assert.strictEqual(bytes.length, 8)
      return [bytes.readFloatLE(0), bytes.readFloatLE(4)]
    })
    assert.deepStrictEqual(decoded, [
      [0.5, -1],
      [Math.fround(0.1), 3]
    ])
  }).pipe(Effect.provide(app))
)

it.effect("a chat model refuses embeddings, and an embedding model refuses chat", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const refused = yield* embedded({ model: "test/small" })
    assert.deepStrictEqual(
      [refused.status, refused.body.error.details.excluded[0].reason],
      [404, "not_an_embedding_model"]
    )
    const answered = yield* chat({ model: "test/embed", messages: [{ role: "user", content: "Hi" }] }, { key: secret })
    assert.deepStrictEqual(
      [answered.status, JSON.parse(answered.text).error.details.excluded[0].reason],
      [404, "not_a_chat_model"]
    )
  }).pipe(Effect.provide(app))
)

it.effect("applies the same policies as chat: whitelist and budget", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const body = { model: "test/embed", input: "one two three" }
    const code = (key: Parameters<typeof issueKey>[0]) =>
      Effect.gen(function* () {
        const { secret } = yield* issueKey(key)
        return JSON.parse((yield* send("/v1/embeddings", { body, key: secret })).text).error?.code ?? "ok"
      })
    assert.strictEqual(yield* code({ allowedModels: ["test/small"] }), "model_not_allowed")
    assert.strictEqual(yield* code({ monthlyBudgetNano: 2_999 }), "monthly_budget_exceeded")
    assert.strictEqual(yield* code({ monthlyBudgetNano: 4_000 }), "ok")
  }).pipe(Effect.provide(app))
)
