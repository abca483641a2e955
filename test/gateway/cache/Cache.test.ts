import * as CacheMemory from "../../../src/store/cache/CacheMemory.ts"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Latch, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { Cache, type CacheEntry, type Lookup } from "../../../src/gateway/cache/Cache.ts"
import { CacheStore } from "../../../src/store/cache/CacheStore.ts"
import { withScope } from "../../../src/domain/runtime/OnClose.ts"
import { type CacheControl } from "../../../src/gateway/request/CacheControl.ts"
import { type PlanOptions, planWith, requestWith } from "../plans.ts"
import { saying } from "../scripts.ts"

const layerWith = (options: Partial<Parameters<typeof Cache.layer>[0]> = {}) =>
  Cache.layer({ enabled: true, when: "always", ttlSeconds: 300, scope: "key", ...options }).pipe(
    Layer.provideMerge(CacheMemory.layer({ maxEntries: 100 }))
  )

const entry = (content = "Hello"): CacheEntry => ({ provider: "alpha", model: "test/small", reply: saying(content) })

const look = (options: PlanOptions = {}, control: CacheControl = "use") =>
  Effect.flatMap(Cache, (cache) => {
    const plan = planWith(options)
    return Effect.flatMap(cache.keyOf(plan, control), (name) =>
      withScope((scope) => cache.lookup(name, control, plan, scope))
    )
  })

/** The answer that the process has in memory. */
const atHand = (cache: Cache["Service"], options: PlanOptions = {}, control: CacheControl = "use") =>
  Effect.map(cache.keyOf(planWith(options), control), (name) => (name === null ? null : cache.peek(name, control)))

/** A lookup whose request is over, as a word. A miss stores `content`, or ends without it. */
const asked = (options: PlanOptions = {}, control: CacheControl = "use", content: string | null = "Hello") =>
  Effect.scoped(
    Effect.gen(function* () {
      const found = yield* look(options, control)
      if (found._tag === "Miss") yield* content === null ? found.fail() : found.store(entry(content))
      return found._tag === "Hit" ? found.entry.reply.choices[0]?.message.content : found._tag
    })
  )

const storing = (found: Lookup, content = "Hello") =>
  found._tag === "Miss" ? found.store(entry(content)) : Effect.die("no miss")
const failing = (found: Lookup) => (found._tag === "Miss" ? found.fail() : Effect.die("no miss"))

it.effect("a stored answer is served again, in any order of members", () =>
  Effect.gen(function* () {
    const request = (members: Partial<ChatRequest>) => ({ request: requestWith(members) })
    assert.strictEqual(yield* asked(request({ temperature: 0, seed: 1 })), "Miss")
    assert.strictEqual(yield* asked(request({ seed: 1, temperature: 0 })), "Hello")
    assert.strictEqual(yield* asked(request({ seed: 2, temperature: 0 })), "Miss")
    assert.strictEqual(yield* (yield* Cache).size, 2)
  }).pipe(Effect.provide(layerWith()))
)

it.effect("so is the answer of a long request, whose key is hashed in turns", () =>
  Effect.gen(function* () {
    const long = (text: string) => ({ request: requestWith({ messages: [{ role: "user", content: text }] }) })
    const text = "word ".repeat(100_000)
    assert.strictEqual(yield* asked(long(text)), "Miss")
    assert.strictEqual(yield* asked(long(text)), "Hello")
    const peeked = yield* Effect.flatMap(Cache, (cache) => atHand(cache, long(text)))
    assert.strictEqual(peeked?.provider, "alpha")
    assert.strictEqual(yield* asked(long(`${text}.`)), "Miss")
  }).pipe(Effect.provide(layerWith()))
)

it.effect("by key: no other key gets it, not even one of the same owner", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* asked({ key: { id: "key_1", ownerId: "usr_1" } }), "Miss")
    assert.strictEqual(yield* asked({ key: { id: "key_2", ownerId: "usr_1" } }), "Miss")
    assert.strictEqual(yield* asked({ key: { id: "key_1", ownerId: "usr_1" } }), "Hello")
  }).pipe(Effect.provide(layerWith()))
)

it.effect("by owner: the owner's keys share, others do not, a key without an owner is alone", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* asked({ key: { id: "key_1", ownerId: "usr_1" } }), "Miss")
    assert.strictEqual(yield* asked({ key: { id: "key_2", ownerId: "usr_1" } }), "Hello")
    assert.strictEqual(yield* asked({ key: { id: "key_3", ownerId: "usr_2" } }), "Miss")
    assert.strictEqual(yield* asked({ key: { id: "key_4" } }), "Miss")
    assert.strictEqual(yield* asked({ key: { id: "key_5" } }), "Miss")
  }).pipe(Effect.provide(layerWith({ scope: "owner" })))
)

it.effect("an entry lives as long as the settings say", () =>
  Effect.gen(function* () {
    yield* asked()
    yield* TestClock.adjust(299_999)
    assert.strictEqual(yield* asked(), "Hello")
    yield* TestClock.adjust(1)
    assert.strictEqual(yield* asked(), "Miss")
  }).pipe(Effect.provide(layerWith()))
)

it.effect("no-cache stores a new answer; no-store neither reads nor stores; disabled is a bypass", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* asked({}, "no-store"), "Bypass")
    assert.strictEqual(yield* asked({}, "use", "old"), "Miss")
    assert.strictEqual(yield* asked({}, "no-cache", "new"), "Miss")
    assert.strictEqual(yield* asked(), "new")
    assert.strictEqual(yield* asked({}, "no-store"), "Bypass")
    assert.strictEqual(yield* asked().pipe(Effect.provide(layerWith({ enabled: false }))), "Bypass")
  }).pipe(Effect.provide(layerWith()))
)

it.effect("by default it is used for repeatable requests: a temperature of 0, or a seed", () =>
  Effect.gen(function* () {
    const request = (members: Partial<ChatRequest>) => ({ request: requestWith(members) })
    for (const members of [{}, { temperature: 0.1 }, { temperature: 1 }, { temperature: null, seed: null }]) {
      assert.strictEqual(yield* asked(request(members)), "Bypass", JSON.stringify(members))
      assert.strictEqual(yield* asked(request(members), "no-cache"), "Bypass", JSON.stringify(members))
    }
    for (const members of [{ temperature: 0 }, { seed: 0 }, { temperature: 1.5, seed: 7 }]) {
      assert.strictEqual(yield* asked(request(members)), "Miss", JSON.stringify(members))
      assert.strictEqual(yield* asked(request(members)), "Hello", JSON.stringify(members))
    }
  }).pipe(Effect.provide(layerWith({ when: "deterministic" })))
)

it.effect("a max-age uses the cache for younger answers and stores; 0 only stores; `never` stays unused", () =>
  Effect.gen(function* () {
    const within = (maxAgeSeconds: number) => ({ maxAgeSeconds })
    const peeked = (control: CacheControl) =>
      Effect.flatMap(Cache, (cache) => Effect.map(atHand(cache, {}, control), (entry) => entry !== null))
    assert.strictEqual(yield* asked({}, within(60), "old"), "Miss")
    yield* TestClock.adjust("30 seconds")
    assert.strictEqual(yield* asked({}, within(31)), "old")
    assert.deepStrictEqual(
      [yield* peeked(within(31)), yield* peeked(within(30)), yield* peeked("use")],
      [true, false, false]
    )
    assert.strictEqual(yield* asked({}, within(30), "new"), "Miss")
    assert.strictEqual(yield* asked({}, within(1)), "new")
    assert.isFalse(yield* peeked(within(0)))
    assert.strictEqual(yield* asked({}, within(0), "newer"), "Miss")
    assert.strictEqual(yield* asked({}, within(1)), "newer")
    assert.strictEqual(yield* asked(), "Bypass")
    assert.strictEqual(yield* asked({}, within(60)).pipe(Effect.provide(layerWith({ when: "never" }))), "Bypass")
  }).pipe(Effect.provide(layerWith({ when: "deterministic" })))
)

it.effect("a request that waits for a new answer does not take an older one", () =>
  Effect.gen(function* () {
    const always = layerWith()
    yield* Effect.gen(function* () {
      const store = yield* CacheStore
      const found = yield* Latch.make()
      // The entry is 100 s old when it is read.
      const slow = Layer.succeed(CacheStore, {
        ...store,
        join: (key, nowMs, longestMs) => Effect.andThen(found.await, store.join(key, nowMs, longestMs))
      })
      yield* asked({}, "use", "old")
      yield* TestClock.adjust("100 seconds")
      yield* Effect.gen(function* () {
        const leader = yield* Effect.forkChild(asked(), { startImmediately: true })
        const waiting = yield* Effect.forkChild(asked({}, { maxAgeSeconds: 60 }), { startImmediately: true })
        yield* found.open
        assert.deepStrictEqual([yield* Fiber.join(leader), yield* Fiber.join(waiting)], ["old", "Miss"])
      }).pipe(
        Effect.provide(
          Cache.layer({ enabled: true, when: "always", ttlSeconds: 300, scope: "key" }).pipe(Layer.provide(slow))
        )
      )
    }).pipe(Effect.provide(always))
  })
)

it.effect("a failure is never stored", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* asked({}, "use", null), "Miss")
    assert.strictEqual(yield* asked(), "Miss")
    assert.strictEqual(yield* asked(), "Hello")
  }).pipe(Effect.provide(layerWith()))
)

it.effect("a peek finds what is in memory: for its tenant, while it lives, if the client accepts it", () =>
  Effect.gen(function* () {
    const cache = yield* Cache
    const seen = (options: PlanOptions = {}, control: CacheControl = "use") =>
      Effect.map(atHand(cache, options, control), (entry) => entry?.reply.choices[0]?.message.content)
    assert.isUndefined(yield* seen())
    const leader = yield* look()
    assert.isUndefined(yield* seen(), "it is under way")
    yield* storing(leader)
    assert.deepStrictEqual(
      [yield* seen(), yield* seen({ key: { id: "key_2" } }), yield* seen({ request: requestWith({ seed: 1 }) })],
      ["Hello", undefined, undefined]
    )
    assert.deepStrictEqual([yield* seen({}, "no-cache"), yield* seen({}, "no-store")], [undefined, undefined])
    yield* TestClock.adjust(300_000)
    assert.isUndefined(yield* seen())
    yield* Effect.gen(function* () {
      assert.isNull(yield* atHand(yield* Cache))
    }).pipe(Effect.provide(Layer.fresh(layerWith({ enabled: false }))))
  }).pipe(Effect.scoped, Effect.provide(layerWith()))
)

it.effect("an entry of another version is a miss", () =>
  Effect.gen(function* () {
    const store = yield* CacheStore
    const written: Array<string> = []
    const spying = Layer.succeed(CacheStore, {
      ...store,
      set: (key, value, ttlMs, nowMs) =>
        Effect.andThen(
          Effect.sync(() => void written.push(key)),
          store.set(key, value, ttlMs, nowMs)
        )
    })
    const layer = Cache.layer({ enabled: true, when: "always", ttlSeconds: 300, scope: "key" }).pipe(
      Layer.provide(spying)
    )
    yield* Effect.gen(function* () {
      yield* asked()
      const [name = ""] = written
      for (const value of ["", "not JSON", "[]", "{}", '{"provider":"alpha","model":"m","reply":{}}']) {
        yield* store.set(name, value, 1_000, 0)
        assert.isNull(yield* atHand(yield* Cache), value)
        assert.strictEqual(yield* asked({}, "use", null), "Miss", value)
      }
    }).pipe(Effect.provide(layer))
  }).pipe(Effect.provide(layerWith()))
)

it.effect("concurrent misses make one call: the first calls, all others get its answer", () =>
  Effect.gen(function* () {
    const leader = yield* look()
    assert.strictEqual(leader._tag, "Miss")
    const followers = yield* Effect.forEach(Array.from({ length: 20 }), () =>
      Effect.forkChild(asked({}, "use", "another"), { startImmediately: true })
    )
    assert.isTrue(
      followers.every((fiber) => fiber.pollUnsafe() === undefined),
      "they wait"
    )
    yield* storing(leader)
    assert.deepStrictEqual(
      yield* Fiber.joinAll(followers),
      Array.from({ length: 20 }, () => "Hello")
    )
  }).pipe(Effect.scoped, Effect.provide(layerWith()))
)

it.effect("if the first fails, each other request calls at once", () =>
  Effect.gen(function* () {
    const leader = yield* look()
    const followers = yield* Effect.forEach(Array.from({ length: 3 }), () =>
      Effect.forkChild(look(), { startImmediately: true })
    )
    yield* failing(leader)
    const found = yield* Fiber.joinAll(followers)
    assert.deepStrictEqual(
      found.map(({ _tag }) => _tag),
      ["Miss", "Miss", "Miss"]
    )
    yield* storing(found[1] ?? leader)
    assert.strictEqual(yield* asked(), "Hello")
  }).pipe(Effect.scoped, Effect.provide(layerWith()))
)

it.effect("if the first one's client leaves, the next takes over and the others wait for it", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const leader = yield* Scope.provide(look(), scope)
    assert.strictEqual(leader._tag, "Miss")
    const heir = yield* Effect.forkChild(look(), { startImmediately: true })
    const third = yield* Effect.forkChild(asked({}, "use", "third"), { startImmediately: true })
    yield* Scope.close(scope, Exit.void)
    const inherited = yield* Fiber.join(heir)
    assert.strictEqual(inherited._tag, "Miss")
    assert.isUndefined(third.pollUnsafe())
    yield* storing(inherited, "heir")
    assert.strictEqual(yield* Fiber.join(third), "heir")
  }).pipe(Effect.scoped, Effect.provide(layerWith()))
)

it.effect("different requests, and other tenants, do not wait for one another", () =>
  Effect.gen(function* () {
    yield* look()
    assert.strictEqual((yield* look({ request: requestWith({ seed: 1 }) }))._tag, "Miss")
    assert.strictEqual((yield* look({ key: { id: "key_other" } }))._tag, "Miss")
    assert.strictEqual((yield* look({}, "no-cache"))._tag, "Miss")
  }).pipe(Effect.scoped, Effect.provide(layerWith()))
)

it.effect("a request waits for another's answer at most ten seconds, and at most until its deadline", () =>
  Effect.gen(function* () {
    // A client that has stopped reading: the request never ends.
    yield* look()
    const after = (ms: number, deadline: PlanOptions["deadline"]) =>
      Effect.gen(function* () {
        const startedAtMs = yield* Clock.currentTimeMillis
        const follower = yield* Effect.forkChild(look({ deadline: deadline ?? null, startedAtMs }), {
          startImmediately: true
        })
        yield* TestClock.adjust(ms - 1)
        assert.isUndefined(follower.pollUnsafe(), `waits for ${ms} ms`)
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(follower))._tag, "Miss")
      })
    yield* after(10_000, null)
    yield* after(500, { ms: 500, explicit: true })
    yield* after(9_500, { ms: 10_000, explicit: false })
  }).pipe(Effect.scoped, Effect.provide(layerWith()))
)
