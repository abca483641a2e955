/** The names by which a client may ask for a model, and what the receipt says of them. */
import { assert, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../support/TestApp.ts"
import { triedOnce } from "../support/testSettings.ts"
import { ask, helloReply } from "./wire.ts"

const app = () => {
  const upstreams: Array<string> = []
  const layer = TestApp.layer({
    providers: [
      {
        slug: "alpha",
        config: {
          dialect: "openai",
          models: [
            {
              ...scriptedOffer("test/small"),
              upstream: "small",
              aliases: { "small-2026-01-02": "small-2026-01-02" }
            },
            scriptedOffer("test/large"),
            { ...scriptedOffer("test/embed"), embeddings: true }
          ]
        },
        models: { "test/small": { reply: helloReply }, "test/large": { reply: helloReply } },
        onCall: ({ offer }) => void upstreams.push(offer.upstream)
      }
    ],
    settings: {
      routing: {
        ...triedOnce,
        aliases: {
          fast: [
            { model: "test/small", weight: 9 },
            { model: "test/large", weight: 1 }
          ]
        }
      }
    }
  })
  return { layer, upstreams }
}

const answered = (key: string, model: string, more: object = {}) =>
  Effect.gen(function* () {
    const { chat, send } = yield* TestApp
    const { headers, status, text } = yield* chat(ask("Hi", { model, ...more }), { key })
    assert.strictEqual(status, 200, text)
    const record = JSON.parse((yield* send(`/v1/generations/${headers.get("x-generation-id")}`, { key })).text)
    return { model: JSON.parse(text).model, requested: record.requested_model, cache: headers.get("x-tollgate-cache") }
  })

it.effect("a snapshot goes to the vendor by its own name, and the receipt shows it", () => {
  const { layer, upstreams } = app()
  return Effect.gen(function* () {
    const { secret } = yield* (yield* TestApp).issueKey()
    // Each request has a cache entry of its own.
    const small = { model: "test/small", cache: "miss" }
    let asked = 0
    const once = (name: string) => answered(secret, name, { seed: asked++ })
    assert.deepStrictEqual(yield* once("test/small"), { ...small, requested: undefined })
    assert.deepStrictEqual(yield* once("small"), { ...small, requested: "small" })
    for (const name of ["small-2026-01-02", "test/small-2026-01-02", "small-20261231"]) {
      assert.deepStrictEqual(yield* once(name), { ...small, requested: name })
    }
    assert.deepStrictEqual(upstreams, ["small", "small", "small-2026-01-02", "small-2026-01-02", "small-20261231"])
  }).pipe(Effect.provide(layer))
})

it.effect("a snapshot has cache entries of its own", () => {
  const { layer } = app()
  return Effect.gen(function* () {
    const { secret } = yield* (yield* TestApp).issueKey()
    const cacheOf = (name: string) =>
      Effect.map(answered(secret, name, { temperature: 0 }), ({ cache, model }) => [model, cache])
    assert.deepStrictEqual(yield* cacheOf("test/small"), ["test/small", "miss"])
    assert.deepStrictEqual(yield* cacheOf("small"), ["test/small", "hit"])
    assert.deepStrictEqual(yield* cacheOf("small-2026-01-02"), ["test/small", "miss"])
    assert.deepStrictEqual(yield* cacheOf("small-2026-01-02"), ["test/small", "hit"])
  }).pipe(Effect.provide(layer))
})

it.effect("an alias with weights shares its requests out by them", () => {
  const { layer } = app()
  return Effect.gen(function* () {
    const { secret } = yield* (yield* TestApp).issueKey()
    const draws = Effect.forEach(Array.from({ length: 60 }), () =>
      Effect.map(answered(secret, "fast"), ({ model, requested }) => {
        assert.strictEqual(requested, "fast")
        return model
      })
    )
    const found = yield* draws
    const canaries = found.filter((model) => model === "test/large").length
    assert.isTrue(canaries > 0 && canaries < 20, String(canaries))
  }).pipe(Effect.provide(layer), Random.withSeed("the tests' own"))
})

it.effect("the whitelist applies to the model that an alias stands for", () => {
  const { layer } = app()
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const large = yield* issueKey({ allowedModels: ["test/large"] })
    for (let count = 0; count < 5; count++) {
      assert.strictEqual((yield* answered(large.secret, "fast")).model, "test/large")
    }
    const neither = yield* issueKey({ allowedModels: ["fast", "other/*"] })
    const denied = yield* chat(ask("Hi", { model: "fast" }), { key: neither.secret })
    assert.deepStrictEqual([denied.status, JSON.parse(denied.text).error.code], [403, "model_not_allowed"])
  }).pipe(Effect.provide(layer))
})

it.effect("an unknown name is told what was perhaps meant; a model of the other kind, what it is", () => {
  const { layer } = app()
  return Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const refusal = (path: string, body: object) =>
      Effect.map(send(path, { key: secret, body }), ({ status, text }) => [status, JSON.parse(text).error.message])
    for (const [model, meant] of [
      ["test/small:free", "test/small"],
      ["small:nitro", "small"],
      ["test/smal:free", "test/small"],
      ["fast:free", "fast"]
    ]) {
      assert.deepStrictEqual(yield* refusal("/v1/chat/completions", ask("Hi", { model })), [
        404,
        `The model '${model}' does not exist. Did you mean '${meant}'? GET /v1/models lists the models that exist.`
      ])
    }
    const narrow = yield* issueKey({ allowedModels: ["other/*"] })
    const hidden = yield* chat(ask("Hi", { model: "fas" }), { key: narrow.secret })
    assert.notInclude(hidden.text, "Did you mean")
    assert.deepStrictEqual(yield* refusal("/v1/chat/completions", ask("Hi", { model: "smll" })), [
      404,
      "The model 'smll' does not exist. Did you mean 'small'? GET /v1/models lists the models that exist."
    ])
    assert.deepStrictEqual(yield* refusal("/v1/embeddings", { model: "test/small", input: "Hi" }), [
      404,
      "'test/small' is a chat model: use it with POST /v1/chat/completions, or name an embedding model."
    ])
    assert.deepStrictEqual(yield* refusal("/v1/chat/completions", ask("Hi", { model: "test/embed" })), [
      404,
      "'test/embed' is an embedding model: use it with POST /v1/embeddings, or name a chat model."
    ])
    assert.strictEqual((yield* chat(ask("Hi"), { key: secret })).status, 200)
  }).pipe(Effect.provide(layer))
})
