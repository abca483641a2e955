/** Conversations below the edge: what ends a stay, and a store that does not answer. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import { ProviderStats } from "../../../src/gateway/health/ProviderStats.ts"
import { conversationName } from "../../../src/gateway/request/Conversation.ts"
import { Router } from "../../../src/gateway/routing/Router.ts"
import { ProviderError, ServerFault } from "../../../src/providers/Provider.ts"
import * as ConversationMemory from "../../../src/store/providerState/ConversationMemory.ts"
import { ConversationStore } from "../../../src/store/providerState/ConversationStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { keyWith, type PlanOptions, requestWith } from "../plans.ts"
import { broken, routedFor, saying, scripted } from "../scripts.ts"

const good = { reply: saying("Hello") }
const request = requestWith({
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello" },
    { role: "user", content: "And?" }
  ]
})
const conversation = { request, sessionId: null }
const name = conversationName(conversation, keyWith().id, "test/small")

const routerOn = (
  scripts: Parameters<typeof scripted>[0],
  store: Layer.Layer<ConversationStore> = ConversationMemory.layer
) => {
  const { heard, layer } = scripted(scripts)
  return {
    heard,
    layer: Router.layer({ retries: 0, continueStreams: true, hedgeAfterMs: null }).pipe(
      Layer.provideMerge(Layer.mergeAll(layer, Circuits.layerMemory, ProviderStats.layer, store))
    )
  }
}

/** Where the request was answered, and the state on its receipt. */
const asked = (options: PlanOptions = {}) =>
  Effect.gen(function* () {
    const routed = yield* routedFor({ request, conversation, ...options })
    const { candidate } = yield* (yield* Router).reply(routed)
    return [candidate.provider.slug, routed.log.record.sticky]
  })

it.effect("a conversation goes to its place although another provider ranks first or is explored", () => {
  const { layer } = routerOn({ alpha: good, beta: good, gamma: good })
  return Effect.gen(function* () {
    const { put } = yield* ConversationStore
    put(name, "gamma", 0)
    assert.deepStrictEqual(yield* asked(), ["gamma", "hit"])
    assert.deepStrictEqual(yield* asked({ groupSizes: [3] }), ["gamma", "hit"])
    assert.deepStrictEqual(yield* asked({ conversation: null }), ["alpha", null])
    // A place that is no longer among the candidates.
    for (const place of ["delta", "alpha#2", "#", ""]) {
      put(name, place, 0)
      assert.deepStrictEqual(yield* asked(), ["alpha", "moved"])
    }
  }).pipe(Effect.provide(layer))
})

it.effect("an open circuit ends the stay without a call", () => {
  const { heard, layer } = routerOn({ alpha: good, beta: good })
  return Effect.gen(function* () {
    const { put } = yield* ConversationStore
    const { guard } = yield* Circuits
    const plan = yield* routedFor()
    const [, beta] = plan.plan.ranked
    assert.isDefined(beta)
    const fault = new ProviderError({ provider: "beta", reason: new ServerFault({ status: 500, retryAfterMs: null }) })
    for (let count = 0; count < 5; count++) yield* Effect.flip(guard(beta)(Effect.fail(fault)))
    put(name, "beta", 0)
    assert.deepStrictEqual(yield* asked(), ["alpha", "moved"])
    assert.deepStrictEqual(heard.calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("only an answer is remembered, and none of a fallback model", () => {
  const { layer } = routerOn({ alpha: broken })
  return Effect.gen(function* () {
    const { peek } = yield* ConversationStore
    yield* Effect.flip(asked())
    assert.isUndefined(peek(name, 0))
  }).pipe(
    Effect.provide(layer),
    Effect.andThen(
      Effect.gen(function* () {
        const { peek } = yield* ConversationStore
        assert.deepStrictEqual(yield* asked({ model: "test/large" }), ["beta", null])
        assert.isUndefined(peek(conversationName(conversation, keyWith().id, "test/large"), 0))
      }).pipe(Effect.provide(routerOn({ beta: good }).layer))
    )
  )
})

it.effect("other processes are asked only for a conversation that goes on, and may be away", () => {
  let gets = 0
  const away = Layer.succeed(ConversationStore, {
    peek: () => undefined,
    get: () =>
      Effect.suspend(() => {
        gets++
        return Effect.fail(new StoreError({ dependency: "limit_store", cause: new Error("away") }))
      }),
    put: () => undefined
  })
  const { layer } = routerOn({ alpha: good, beta: good }, away)
  return Effect.gen(function* () {
    const first = requestWith()
    assert.deepStrictEqual(yield* asked({ conversation: { request: first, sessionId: null } }), ["alpha", "new"])
    assert.strictEqual(gets, 0)
    assert.deepStrictEqual(yield* asked(), ["alpha", "new"])
    assert.strictEqual(gets, 1)
  }).pipe(Effect.provide(layer))
})
