import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { defaultTimeouts } from "../../src/domain/Catalog.ts"
import { type ChatRequest } from "../../src/domain/Chat.ts"
import { mockProvider } from "../../src/providers/presets/Mock.ts"
import { Cut, Throttled, Unreachable } from "../../src/providers/Provider.ts"
import { Providers } from "../../src/providers/Providers.ts"
import { layerScripted, scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { Transport } from "../../src/providers/transport/Transport.ts"
import { config } from "./replayedTransport.ts"

const request: ChatRequest = { model: "a/b", messages: [{ role: "user", content: "hi" }], stream: false }
const call = { request, offer: scriptedOffer("a/b") }
const reply = { choices: [], usage: null, systemFingerprint: null }
const only = Effect.map(Providers, (providers) => {
  const [provider] = providers.all
  assert.isDefined(provider)
  return provider
})

describe("Providers.layer", () => {
  it.effect("builds each provider by its dialect, in order", () =>
    Effect.gen(function* () {
      const providers = yield* Providers
      assert.deepStrictEqual(
        providers.all.map((provider) => provider.config.slug),
        ["alpha", "mock"]
      )
      assert.strictEqual(providers.get({ provider: mockProvider, offer: call.offer })?.config.dialect, "mock")
      assert.isUndefined(providers.get({ provider: config({ slug: "beta" }), offer: call.offer }))
    }).pipe(Effect.provide(Providers.layer([config(), mockProvider]).pipe(Layer.provide(Transport.layer))))
  )

  it.effect("builds a provider of both APIs where a model is called by Responses", () =>
    Effect.gen(function* () {
      const paths: Array<string> = []
      const refused = new Unreachable({ detail: "test" })
      const noting = Layer.succeed(
        Transport,
        Transport.of({
          endpoint: (_config, path) => {
            const post = () => Effect.sync(() => void paths.push(path)).pipe(Effect.andThen(Effect.fail(refused)))
            return { post, open: post }
          }
        })
      )
      const models = [scriptedOffer("a/b"), { ...scriptedOffer("a/c"), api: "responses" as const }]
      const layer = Providers.layer([config({ models })])
      const { all } = Context.get(yield* Layer.build(Layer.provide(layer, noting)), Providers)
      for (const offer of models) yield* Effect.flip(all[0]?.chat({ request, offer }) ?? Effect.die("no provider"))
      assert.deepStrictEqual(paths, ["/chat/completions", "/responses"])
    })
  )

  it.effect("gives a model its own time limits, and the others the provider's", () =>
    Effect.gen(function* () {
      const slow = { ...scriptedOffer("a/slow"), timeouts: { firstTokenMs: 300_000, connectMs: 7 } }
      const limitsOf = Effect.map(Providers, (providers) =>
        [slow, call.offer].map((offer) => providers.get({ provider: config(), offer })?.config.timeouts)
      )
      const layer = Providers.layer([config({ models: [slow, call.offer] })]).pipe(Layer.provide(Transport.layer))
      const [own, shared] = yield* Effect.provide(limitsOf, layer)
      assert.deepStrictEqual(own, { ...defaultTimeouts, firstTokenMs: 300_000, connectMs: 7 })
      assert.deepStrictEqual(shared, defaultTimeouts)
    })
  )

  it.effect("has a provider for each of several keys, for models with own time limits too", () =>
    Effect.gen(function* () {
      const keys = ["one", "two", "three"].map((key) => Redacted.make(key))
      const slow = { ...scriptedOffer("a/slow"), timeouts: { firstTokenMs: 300_000 } }
      const [apiKey = null] = keys
      const pool = config({ apiKey, apiKeys: keys, models: [slow, call.offer] })
      const { all, get } = Context.get(
        yield* Layer.build(Layer.provide(Providers.layer([pool]), Transport.layer)),
        Providers
      )
      assert.strictEqual(all.length, 1)
      for (const offer of pool.models) {
        const keyed = [1, 2, 3, 4].map((key) => get({ provider: pool, offer, key })?.config.apiKey)
        assert.deepStrictEqual(keyed, [...keys, undefined])
        assert.strictEqual(get({ provider: pool, offer })?.config.apiKey, apiKey)
      }
    })
  )

  it.effect("knows every dialect, and each sends to its vendor's address", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const noting = Layer.succeed(
        Transport,
        Transport.of({
          endpoint: (_config, path) => {
            const post = () => Effect.sync(() => void seen.push(path)).pipe(Effect.andThen(Effect.fail(refused)))
            return { post, open: post }
          }
        })
      )
      const refused = new Unreachable({ detail: "test" })
      const dialects = ["openai", "anthropic", "gemini", "bedrock"] as const
      const layer = Providers.layer(dialects.map((dialect) => config({ slug: dialect, dialect })))
      const { all } = Context.get(yield* Layer.build(Layer.provide(layer, noting)), Providers)
      for (const provider of all) {
        const error = yield* Effect.flip(provider.chat(call))
        assert.deepStrictEqual([error.provider, error.reason], [provider.config.slug, refused])
      }
      assert.deepStrictEqual(
        seen.map((path) => path.replace(/^\/v1(beta)?/, "").replace(/[^/]*(?=:|\/converse)/, "*")),
        ["/chat/completions", "/messages", "/models/*:generateContent", "/model/*/converse"]
      )
    })
  )
})

describe("layerScripted", () => {
  const heard: Array<string> = []
  it.effect("answers call after call, the last script for good", () =>
    Effect.gen(function* () {
      const provider = yield* only
      const throttled = new Throttled({ status: 429, retryAfterMs: 5 })
      assert.deepStrictEqual((yield* Effect.flip(provider.chat(call))).reason, throttled)
      assert.deepStrictEqual(yield* provider.chat(call), reply)
      assert.deepStrictEqual(yield* provider.chat(call), reply)
      assert.deepStrictEqual(heard, ["chat", "chat", "chat"])
    }).pipe(
      Effect.provide(
        layerScripted([
          {
            slug: "s",
            models: { "a/b": [{ failure: new Throttled({ status: 429, retryAfterMs: 5 }) }, { reply }] },
            onCall: (_call, kind) => heard.push(kind)
          }
        ])
      )
    )
  )

  const aborted: Array<string> = []
  it.effect("streams with pauses on the clock, breaks where told, and hears of calls given up", () =>
    Effect.gen(function* () {
      const provider = yield* only
      const collected = yield* Effect.forkChild(
        Effect.scoped(Effect.flatMap(provider.chatStream(call), (events) => Stream.runCollect(events.stream)))
      )
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* Fiber.join(collected), [{ _tag: "End", usage: null, systemFingerprint: null }])
      const error = yield* Effect.flip(
        Effect.scoped(Effect.flatMap(provider.chatStream(call), (events) => Stream.runDrain(events.stream)))
      )
      assert.instanceOf(error.reason, Cut)
      assert.deepStrictEqual(aborted, [])
      const hanging = yield* Effect.forkChild(Effect.scoped(provider.chatStream(call)))
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(hanging)
      assert.deepStrictEqual(aborted, ["a/b"])
    }).pipe(
      Effect.provide(
        layerScripted([
          {
            slug: "s",
            models: {
              "a/b": [
                { events: [1_000, { _tag: "End", usage: null, systemFingerprint: null }] },
                { events: [new Cut({ detail: "told so" })] },
                { hangs: true }
              ]
            },
            onAbort: ({ offer }) => aborted.push(offer.id)
          }
        ])
      )
    )
  )

  it.effect("dies on a call without a script, which is the test's fault", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit((yield* only).chat(call))
      assert.strictEqual(exit._tag, "Failure")
      if (exit._tag === "Failure") assert.strictEqual(exit.cause.reasons[0]?._tag, "Die")
    }).pipe(Effect.provide(layerScripted([{ slug: "s", models: {} }])))
  )
})
