import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { randomUUID } from "node:crypto"
import { CONVERSATION_TTL_MS, ConversationStore } from "../../../src/store/providerState/ConversationStore.ts"

/** A name that no other test uses. */
export const newConversation = (): string => randomUUID()

/** Runs on every layer of the store. */
export const conversationStoreSuite = (layer: Layer.Layer<ConversationStore, unknown>) => {
  it.layer(layer)((it) => {
    it.effect("knows nothing of a new conversation", () =>
      Effect.gen(function* () {
        const { get, peek } = yield* ConversationStore
        const name = newConversation()
        assert.isUndefined(peek(name, 0))
        assert.isUndefined(yield* get(name, 0))
      })
    )

    it.effect("remembers the last place of each conversation", () =>
      Effect.gen(function* () {
        const { get, peek, put } = yield* ConversationStore
        const [name, other] = [newConversation(), newConversation()]
        put(name, "alpha#2", 0)
        put(other, "beta", 0)
        put(name, "beta#1", 1)
        assert.strictEqual(peek(name, 2), "beta#1")
        assert.strictEqual(yield* get(name, 2), "beta#1")
        assert.strictEqual(yield* get(other, 2), "beta")
      })
    )

    it.effect("knows a place without a round trip for ten minutes after the last answer", () =>
      Effect.gen(function* () {
        const { peek, put } = yield* ConversationStore
        const name = newConversation()
        put(name, "alpha", 0)
        put(name, "alpha", 5_000)
        assert.strictEqual(peek(name, 4_999 + CONVERSATION_TTL_MS), "alpha")
        assert.isUndefined(peek(name, 5_000 + CONVERSATION_TTL_MS))
      })
    )
  })
}
