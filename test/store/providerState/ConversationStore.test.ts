import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Scope } from "effect"
import { Redis } from "effect/persistence"
import { inject } from "vitest"
import * as ConversationMemory from "../../../src/store/providerState/ConversationMemory.ts"
import * as ConversationRedis from "../../../src/store/providerState/ConversationRedis.ts"
import {
  CONVERSATION_TTL_MS,
  ConversationStore,
  MOST_CONVERSATIONS
} from "../../../src/store/providerState/ConversationStore.ts"
import { RecentPlaces } from "../../../src/store/providerState/RecentPlaces.ts"
import { RedisConnection } from "../../../src/store/redis/RedisConnection.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { sharedSecrets } from "../../support/SharedSecrets.ts"
import { conversationStoreSuite, newConversation } from "./conversationStoreSuite.ts"

const connection = RedisConnection.layer({ url: Redacted.make(inject("redisUrl")) })
const onRedis = ConversationRedis.layer.pipe(Layer.provide(sharedSecrets), Layer.provideMerge(connection))

const away = Effect.fail(new Redis.RedisError({ cause: new Error("away") }))

/** Another process on the same Redis. */
const another = Effect.map(Layer.build(Layer.fresh(onRedis)), (services) => Context.get(services, ConversationStore))

describe("ConversationMemory.layer", () => {
  conversationStoreSuite(ConversationMemory.layer)
})

describe("RecentPlaces", () => {
  it("stays within its bound for a million conversations, and forgets the oldest", () => {
    const places = new RecentPlaces()
    const count = 1_000_000
    let most = 0
    for (let at = 0; at < count; at++) {
      places.set(String(at), "alpha", 0)
      most = Math.max(most, places.size)
    }
    assert.isAtMost(most, MOST_CONVERSATIONS)
    assert.isUndefined(places.get(String(count - MOST_CONVERSATIONS - 1), 1))
    assert.isDefined(places.get(String(count - MOST_CONVERSATIONS / 2), 1))
    assert.isDefined(places.get(String(count - 1), 1))
  })
})

describe("ConversationRedis.layer", () => {
  conversationStoreSuite(onRedis)

  it.live("tells other processes, and Redis sees no name and forgets the place", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* another, yield* another]
      const redis = Context.get(yield* Layer.build(connection), Redis.Redis)
      const name = newConversation()
      const keys = redis.send<ReadonlyArray<string>>("KEYS", "tollgate:conversation:*")
      const before = new Set(yield* keys)
      first.put(name, "alpha#2", 0)
      assert.isUndefined(second.peek(name, 0))
      const learned = second.get(name, 0)
      // Writes do not delay a request, so another process learns a little later.
      while ((yield* learned) === undefined) yield* Effect.yieldNow
      assert.strictEqual(second.peek(name, 0), "alpha#2")
      const [key = "", ...more] = (yield* keys).filter((found) => !before.has(found))
      assert.deepStrictEqual(more, [])
      assert.notInclude(key, name)
      const left = yield* redis.send<number>("PTTL", key)
      assert.isTrue(left > 0 && left <= CONVERSATION_TTL_MS, String(left))
    }).pipe(Effect.scoped)
  )

  it.effect("asks and tells Redis only what it must", () =>
    Effect.gen(function* () {
      const sent: Array<string> = []
      const noting = Layer.mock(Redis.Redis, {
        send: <A>(command: string) => Effect.sync(() => (sent.push(command), null as A)),
        eval: () => () => away
      })
      const scope = yield* Scope.make()
      const layer = ConversationRedis.layer.pipe(Layer.provide(sharedSecrets), Layer.provide(noting))
      const store = Context.get(yield* Layer.buildWithScope(layer, scope), ConversationStore)
      const drained = Effect.forEach([...Array(50)], () => Effect.yieldNow, { discard: true })
      store.put("a", "alpha", 0)
      yield* drained
      assert.strictEqual(yield* store.get("a", 1), "alpha")
      assert.deepStrictEqual(sent, ["SET"])
      // An unchanged place is written again before it expires, a changed one at once.
      store.put("a", "alpha", 1_000)
      yield* drained
      assert.deepStrictEqual(sent, ["SET"])
      store.put("a", "alpha", CONVERSATION_TTL_MS / 2)
      yield* drained
      store.put("a", "beta", CONVERSATION_TTL_MS / 2)
      yield* drained
      assert.deepStrictEqual(sent, ["SET", "SET", "SET"])
    }).pipe(Effect.scoped)
  )

  it.effect("fails with a StoreError when Redis does, and goes on remembering by itself", () =>
    Effect.gen(function* () {
      const { get, put } = yield* ConversationStore
      const error = yield* Effect.flip(get("a", 0))
      assert.isTrue(error instanceof StoreError)
      for (let at = 0; at < 5_000; at++) put(String(at), "alpha", 0)
      assert.strictEqual(yield* get("4999", 1), "alpha")
    }).pipe(
      Effect.provide(
        ConversationRedis.layer.pipe(
          Layer.provide(sharedSecrets),
          Layer.provide(Layer.mock(Redis.Redis, { send: () => away, eval: () => () => away }))
        )
      )
    )
  )
})
