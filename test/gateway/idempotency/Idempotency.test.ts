/**
 * Idempotency keys below the edge: dead processes, long requests, a database that is away, replies
 * that are too large.
 */
import * as CacheMemory from "../../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import * as ResponsesMemory from "../../../src/store/responses/ResponsesMemory.ts"
import * as IdempotencyMemory from "../../../src/store/idempotency/IdempotencyMemory.ts"
import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Redacted, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { canonicalPieces, feed } from "../../../src/domain/json/CanonicalJson.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { Completion } from "../../../src/gateway/chat/Completion.ts"
import { MAX_KEPT_CHARACTERS } from "../../../src/gateway/idempotency/Idempotency.ts"
import { MetadataRecorder } from "../../../src/gateway/request/ResponseMetadata.ts"
import { sealOf } from "../../../src/gateway/idempotency/SealedReply.ts"
import * as Retention from "../../../src/gateway/billing/Retention.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { gateway, memory } from "../../../src/Server.ts"
import { defaultSettings } from "../../../src/Settings.ts"
import { IdempotencyStore } from "../../../src/store/idempotency/IdempotencyStore.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import * as RefusalMemory from "../../../src/store/refusals/RefusalMemory.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { makeGeneration } from "../../store/ledger/makeGeneration.ts"
import { oneTurn } from "../../support/turns.ts"
import { keyWith, requestWith } from "../plans.ts"
import { ending, piece, saying, scripted, stop } from "../scripts.ts"

const secret = Redacted.make("tg-secret")
const limits = { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrency: 1_000 }
const down = Effect.fail(new StoreError({ dependency: "database", cause: "away" }))

/** A store with some members replaced. */
const storeWith = (change: (whole: IdempotencyStore["Service"]) => Partial<IdempotencyStore["Service"]>) =>
  Layer.effect(
    IdempotencyStore,
    Effect.map(IdempotencyStore, (whole) => ({ ...whole, ...change(whole) }))
  ).pipe(Layer.provide(IdempotencyMemory.layer))

const gatewayOn = (script: Script | ReadonlyArray<Script>, store = storeWith(() => ({}))) => {
  const { heard, layer: providers } = scripted({ alpha: script })
  const settings = { ...defaultSettings, cache: { ...defaultSettings.cache, enabled: false } }
  const layer = gateway(settings).pipe(
    Layer.provideMerge(
      // The later of two layers counts.
      Layer.mergeAll(providers, memory, store)
    ),
    Layer.provideMerge(
      Layer.mergeAll(
        KeyRepoMemory.layer,
        LedgerMemory.layer,
        LimitsMemory.layer,
        CacheMemory.layer(settings.cache),
        Ids.layerSequence
      )
    )
  )
  return { heard, layer }
}

/** Runs a request to its end, and returns what the client got. */
const asked = (request: Partial<ChatRequest> = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { metadata, note } = new MetadataRecorder()
      const completed = yield* (yield* Completion).run({
        request: requestWith(request),
        caller: { key: keyWith(), limits },
        cacheControl: "use",
        idempotencyKey: { name: "order-7", secret },
        note
      })
      if (completed._tag === "Stream") yield* Stream.runDrain(completed.events.stream)
      return { replayed: metadata.replayed, generationId: completed.head.generationId }
    })
  )

const conflict = Effect.map(Effect.flip(asked()), ({ reason }) =>
  reason._tag === "IdempotencyConflict" ? reason.kind : reason._tag
)

const seal = Effect.runSync(
  sealOf(keyWith().id, "order-7", secret, (hmac) =>
    feed(canonicalPieces(requestWith()), hmac.update("chat\n"), oneTurn)
  )
)

it.effect("a key of a dead process is free when its lease expires", () => {
  const { heard, layer } = gatewayOn({ reply: saying("Hello") })
  return Effect.gen(function* () {
    yield* (yield* IdempotencyStore).claim({
      id: seal.id,
      holder: "gen_of_the_dead",
      fingerprint: seal.fingerprint,
      nowMs: 0,
      leaseUntilMs: 150_000,
      expiresAtMs: 86_400_000
    })
    yield* TestClock.adjust("149 seconds")
    assert.strictEqual(yield* conflict, "running")
    yield* TestClock.adjust("1 second")
    assert.isFalse((yield* asked()).replayed)
    assert.isTrue((yield* asked()).replayed)
    assert.lengthOf(heard.calls, 1)
  }).pipe(Effect.provide(layer))
})

it.effect("a request that takes longer than a lease keeps its key", () => {
  const { heard, layer } = gatewayOn({
    events: [piece("Hello"), 14_000, piece(" you"), 14_000, stop, ending()],
    delayMs: 14_000
  })
  return Effect.gen(function* () {
    const slow = yield* Effect.forkChild(asked({ stream: true }), { startImmediately: true })
    // Each step renews the lease and is shorter than it.
    yield* TestClock.adjust("40 seconds")
    assert.strictEqual((yield* Effect.flip(asked({ stream: true }))).reason._tag, "IdempotencyConflict")
    yield* TestClock.adjust("10 seconds")
    const first = yield* Fiber.join(slow)
    assert.deepStrictEqual(yield* asked({ stream: true }), { replayed: true, generationId: first.generationId })
    assert.lengthOf(heard.calls, 1)
  }).pipe(Effect.provide(layer))
})

it.effect("leases are renewed only while requests run", () => {
  const renewed: Array<number> = []
  const store = storeWith((whole) => ({
    renew: (held, leaseUntilMs) => {
      renewed.push(held.length)
      return whole.renew(held, leaseUntilMs)
    }
  }))
  const { layer } = gatewayOn([{ hangs: true }, { reply: saying("Hello") }], store)
  return Effect.gen(function* () {
    yield* TestClock.adjust("10 minutes")
    assert.deepStrictEqual(renewed, [])
    const scope = yield* Scope.make()
    const waiting = yield* Effect.forkIn(asked(), scope, { startImmediately: true })
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(renewed, [1, 1])
    yield* Effect.forkChild(Fiber.interrupt(waiting), { startImmediately: true })
    yield* TestClock.adjust("10 minutes")
    assert.deepStrictEqual(renewed, [1, 1])
    assert.isFalse((yield* asked()).replayed)
  }).pipe(Effect.provide(layer))
})

it.effect("a reply that cannot be stored yet is sent all the same; until it is stored, retries do not run", () => {
  let isAway = true
  const store = storeWith((whole) => ({
    complete: (...parameters) => Effect.suspend(() => (isAway ? down : whole.complete(...parameters)))
  }))
  const { heard, layer } = gatewayOn({ reply: saying("Hello") }, store)
  return Effect.gen(function* () {
    const first = yield* asked()
    yield* TestClock.adjust("10 minutes")
    assert.strictEqual(yield* conflict, "running")
    isAway = false
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* asked(), { replayed: true, generationId: first.generationId })
    assert.lengthOf(heard.calls, 1)
  }).pipe(Effect.provide(layer))
})

it.effect("a database that does not answer fails the request before a provider is called", () => {
  const { heard, layer } = gatewayOn(
    { reply: saying("Hello") },
    storeWith(() => ({ claim: () => down }))
  )
  return Effect.gen(function* () {
    assert.strictEqual(yield* conflict, "DependencyUnavailable")
    assert.lengthOf(heard.calls, 0)
  }).pipe(Effect.provide(layer))
})

it.effect("a reply above the limit is not stored, whole or streamed, and frees the key", () => {
  const large = "x".repeat(MAX_KEPT_CHARACTERS / 2)
  const { heard, layer } = gatewayOn({
    reply: saying(large + large),
    events: [piece(large), piece(large), stop, ending()]
  })
  return Effect.gen(function* () {
    for (const stream of [false, false, true, true]) assert.isFalse((yield* asked({ stream })).replayed)
    assert.lengthOf(heard.calls, 4)
  }).pipe(Effect.provide(layer))
})

it.effect("a defect frees the key", () => {
  const { layer } = gatewayOn([{}, { reply: saying("Hello") }])
  return Effect.gen(function* () {
    assert.isTrue(Exit.hasDies(yield* Effect.exit(asked())))
    assert.isFalse((yield* asked()).replayed)
  }).pipe(Effect.provide(layer))
})

it.effect("a long request is recognised too, and told from another one", () => {
  const { heard, layer } = gatewayOn({ reply: saying("Hello") })
  const long = (end: string) =>
    asked({
      messages: Array.from({ length: 20_001 }, (_, at) => ({ role: "user", content: at < 20_000 ? "Hi" : end }))
    })
  return Effect.gen(function* () {
    assert.isFalse((yield* long("a")).replayed)
    assert.isTrue((yield* long("a")).replayed)
    assert.strictEqual((yield* Effect.flip(long("b"))).reason._tag, "IdempotencyConflict")
    assert.lengthOf(heard.calls, 1)
  }).pipe(Effect.provide(layer))
})

it.effect("expired keys are deleted in batches", () => {
  const pieces: Array<number> = []
  const store = storeWith((whole) => ({
    deleteExpired: (nowMs, limit) =>
      Effect.tap(whole.deleteExpired(nowMs, limit), (count) => Effect.sync(() => pieces.push(count)))
  }))
  return Effect.gen(function* () {
    const store = yield* IdempotencyStore
    for (let at = 0; at < 1_200; at++) {
      yield* store.claim({
        id: `id-${at}`,
        holder: "gen",
        fingerprint: "",
        nowMs: 0,
        leaseUntilMs: 1,
        expiresAtMs: at < 1_100 ? 20_000 : 100_000
      })
    }
    yield* Layer.build(Retention.layer({ archiveDays: null, retentionDays: null }))
    yield* TestClock.adjust("29 seconds")
    assert.deepStrictEqual(pieces, [0])
    yield* TestClock.adjust("2 seconds")
    assert.deepStrictEqual(pieces, [0, 500, 500, 100])
  }).pipe(Effect.provide(Layer.mergeAll(store, ResponsesMemory.layer, LedgerMemory.layer, RefusalMemory.layer)))
})

it.effect("generations older than the retention time are deleted, if one is set", () =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const generationStore = yield* GenerationStore
    const day = 86_400_000
    for (let at = 0; at < 1_300; at++) {
      const generation = makeGeneration({ id: `gen_${at}`, keyId: "key_1", createdAtMs: at < 1_200 ? at : 40 * day }, 7)
      yield* ledger.settle(generation, at < 1_200 ? "1970-01" : "1970-02")
    }
    const left = Effect.map(
      generationStore.list({ keyId: null, limit: 2_000, cursor: null }),
      ({ generations }) => generations.length
    )
    yield* TestClock.adjust(30 * day + 600)
    const never = Retention.layer({ archiveDays: null, retentionDays: null })
    yield* Effect.scoped(Effect.andThen(Layer.build(never), TestClock.adjust("1 hour")))
    assert.strictEqual(yield* left, 1_300)
    yield* Layer.build(Retention.layer({ archiveDays: null, retentionDays: 31 }))
    yield* TestClock.adjust("22 hours")
    assert.strictEqual(yield* left, 1_300)
    yield* TestClock.adjust("2 hours")
    assert.strictEqual(yield* left, 100)
    // The spent amount of their month stays.
    assert.deepStrictEqual((yield* ledger.balances(["key_1"], "1970-01")).get("key_1"), {
      spentNano: 8_400,
      reservedNano: 0
    })
  }).pipe(
    Effect.provide(
      Layer.mergeAll(IdempotencyMemory.layer, ResponsesMemory.layer, LedgerMemory.layer, RefusalMemory.layer)
    )
  )
)
