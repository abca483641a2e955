/**
 * The prompt caches of two processes on one Redis: concurrent equal misses make one upstream call,
 * in whichever process they run.
 */
import * as CacheRedis from "../../../src/store/cache/CacheRedis.ts"
import { assert, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { inject } from "vitest"
import { Cache } from "../../../src/gateway/cache/Cache.ts"
import { withScope } from "../../../src/domain/runtime/OnClose.ts"
import { CacheStore } from "../../../src/store/cache/CacheStore.ts"
import { RedisConnection } from "../../../src/store/redis/RedisConnection.ts"
import { sharedSecrets } from "../../support/SharedSecrets.ts"
import { planWith, requestWith } from "../plans.ts"
import { saying } from "../scripts.ts"

const process = Effect.map(
  Layer.build(
    Layer.fresh(
      Cache.layer({ enabled: true, when: "always", ttlSeconds: 300, scope: "key" }).pipe(
        Layer.provideMerge(CacheRedis.layer),
        Layer.provide(Layer.merge(RedisConnection.layer({ url: Redacted.make(inject("redisUrl")) }), sharedSecrets))
      )
    )
  ),
  (built) => ({ cache: Context.get(built, Cache), store: Context.get(built, CacheStore) })
)

/** A request to a process, and its result as a word. A miss stores `landing`; null: it fails. */
const asked = Effect.fnUntraced(function* (
  { cache }: { readonly cache: Cache["Service"] },
  id: string,
  landing: Effect.Effect<string | null>
) {
  const plan = planWith({ key: { id }, request: requestWith() })
  const name = yield* cache.keyOf(plan, "use")
  const found = yield* withScope((scope) => cache.lookup(name, "use", plan, scope))
  if (found._tag !== "Miss") return found._tag
  const content = yield* landing
  yield* content === null
    ? found.fail()
    : found.store({ provider: "alpha", model: "test/small", reply: saying(content) })
  return found._tag
}, Effect.scoped)

const flight = (id: string, ends: string | null) =>
  Effect.gen(function* () {
    const [first, second] = [yield* process, yield* process]
    const isCalled = yield* Deferred.make<void>()
    const landing = yield* Deferred.make<string | null>()
    const calls: Array<string> = []
    const call = (name: string, then: Effect.Effect<string | null>) =>
      Effect.suspend(() => {
        calls.push(name)
        return then
      })
    const one = yield* Effect.forkChild(
      asked(first, id, call("first", Effect.andThen(Deferred.succeed(isCalled, undefined), Deferred.await(landing))))
    )
    yield* Deferred.await(isCalled)
    const two = yield* Effect.forkChild(asked(second, id, call("second", Effect.succeed("second"))), {
      startImmediately: true
    })
    // One round trip after it asked.
    yield* second.store.ping
    assert.deepStrictEqual(calls, ["first"])
    yield* Deferred.succeed(landing, ends)
    return { told: [yield* Fiber.join(one), yield* Fiber.join(two)], calls }
  })

it.live("the second process waits for the first one's answer and makes no call", () =>
  Effect.gen(function* () {
    const { calls, told } = yield* flight(`key_${crypto.randomUUID()}`, "first")
    assert.deepStrictEqual({ calls, told }, { calls: ["first"], told: ["Miss", "Hit"] })
  })
)

it.live("if the first process fails, the second calls", () =>
  Effect.gen(function* () {
    const { calls, told } = yield* flight(`key_${crypto.randomUUID()}`, null)
    assert.deepStrictEqual({ calls, told }, { calls: ["first", "second"], told: ["Miss", "Miss"] })
  })
)
