/**
 * Whole cache hits, settled by the write that checks their budget. They take one ledger write and
 * otherwise look like hits that were reserved first.
 */
import * as CacheMemory from "../../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import * as KeyRepoMemory from "../../../src/store/keys/KeyRepoMemory.ts"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Redacted, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { type KeyRecord } from "../../../src/domain/Key.ts"
import { nanoFromUsd } from "../../../src/domain/pricing/Money.ts"
import { BudgetAlerts } from "../../../src/gateway/billing/BudgetAlerts.ts"
import { Completion } from "../../../src/gateway/chat/Completion.ts"
import { type SentKey } from "../../../src/gateway/idempotency/Idempotency.ts"
import { type CacheControl } from "../../../src/gateway/request/CacheControl.ts"
import { MetadataRecorder } from "../../../src/gateway/request/ResponseMetadata.ts"
import { gateway, memory } from "../../../src/Server.ts"
import { CacheStore } from "../../../src/store/cache/CacheStore.ts"
import { LedgerReports } from "../../../src/store/ledger/reports/LedgerReports.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { Limits } from "../../../src/store/limits/Limits.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { testSettings } from "../../support/testSettings.ts"
import { keyWith, requestWith } from "../plans.ts"
import { ending, piece, saying, scripted, stop } from "../scripts.ts"

/** `replaying` runs before that write. */
interface Notes {
  readonly writes: Array<string>
  readonly alerts: Array<boolean>
  replaying: Effect.Effect<void, StoreError>
}

const app = (cache: Partial<CacheStore["Service"]> = {}) => {
  const notes: Notes = { writes: [], alerts: [], replaying: Effect.void }
  const noted = <A, E>(name: string, write: Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      notes.writes.push(name)
      return write
    })
  const ledger = Layer.effect(
    Ledger,
    Effect.map(Ledger, (one) =>
      Ledger.of({
        ...one,
        reserve: (reservation) => noted("reserve", one.reserve(reservation)),
        extend: (...given) => noted("extend", one.extend(...given)),
        settle: (...given) => noted("settle", one.settle(...given)),
        replay: (...given) => noted("replay", Effect.andThen(notes.replaying, one.replay(...given))),
        void: (id) => noted("void", one.void(id))
      })
    )
  ).pipe(Layer.provideMerge(LedgerMemory.layer))
  const store = Layer.effect(
    CacheStore,
    Effect.map(CacheStore, (one) => ({ ...one, ...cache }))
  ).pipe(Layer.provide(CacheMemory.layer(testSettings.cache)))
  const script = { reply: saying("Hello"), events: [piece("Hello"), stop, ending()] }
  const { layer: providers } = scripted({ alpha: script, beta: { reply: saying("from beta") } })
  const alerts = Layer.succeed(BudgetAlerts, { note: (_, isRefused) => void notes.alerts.push(isRefused) })
  const layer = gateway(testSettings).pipe(
    Layer.provideMerge(Layer.mergeAll(providers, memory, alerts)),
    Layer.provideMerge(Layer.mergeAll(KeyRepoMemory.layer, ledger, LimitsMemory.layer, store, Ids.layerSequence))
  )
  return { notes, layer: Layer.fresh(layer) }
}

interface Asked {
  readonly request?: Partial<ChatRequest>
  readonly key?: Partial<KeyRecord>
  readonly cacheControl?: CacheControl
  readonly idempotencyKey?: SentKey
}

const limits = { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrency: 1_000 }

const begun = ({ cacheControl = "use", idempotencyKey, key, request }: Asked = {}) =>
  Effect.gen(function* () {
    const { metadata, note } = new MetadataRecorder()
    const completed = yield* (yield* Completion).run({
      request: requestWith(request),
      caller: { key: keyWith(key), limits },
      cacheControl,
      idempotencyKey: idempotencyKey ?? null,
      note
    })
    return { completed, metadata }
  })

/** Runs a request to its end and returns its ledger writes. */
const asked = ({ notes }: ReturnType<typeof app>, given: Asked = {}) =>
  Effect.gen(function* () {
    const from = notes.writes.length
    const { completed, metadata } = yield* begun(given)
    if (completed._tag === "Stream") yield* Stream.runDrain(completed.events.stream)
    const reply = completed._tag === "Reply" ? completed : undefined
    return {
      writes: notes.writes.slice(from),
      cache: metadata.cache,
      text: reply?.reply.choices[0]?.message.content,
      usage: reply?.usage,
      head: completed.head,
      metadata
    }
  }).pipe(Effect.scoped)

/** The refusal, with the ledger writes. */
const refused = (one: ReturnType<typeof app>, given: Asked) =>
  Effect.gen(function* () {
    const from = one.notes.writes.length
    const { reason } = yield* Effect.flip(asked(one, given))
    return [reason._tag, one.notes.writes.slice(from)]
  })

const KEY = keyWith().id
const capped = { monthlyBudgetNano: nanoFromUsd(1) }
/** A key without a cap, and an answer that is there before its reservation is written. */
const inOne = ["settle"]
const inTwo = ["reserve", "settle"]
/** The reservation is tried again before the request joins the queue. */
const inLine = ["reserve", "reserve"]
/**
 * The first time that a key's cap has no ample room, the prompt's bound is tried before its count.
 */
const boundThenInLine = ["reserve", ...inLine]

const balance = Effect.gen(function* () {
  return (yield* (yield* Ledger).balances([KEY], "1970-01")).get(KEY)
})

const recordOf = (generationId: string | null) =>
  Effect.gen(function* () {
    const found = yield* (yield* GenerationStore).find(generationId ?? "", KEY)
    return Option.isSome(found) && found.value._tag === "Settled" ? found.value.generation : assert.fail("not settled")
  })

for (const [name, key, writes] of [
  ["with a cap", capped, inTwo],
  ["without one", {}, inOne]
] as const) {
  it.effect(`a key ${name}: a hit is one write, and its record equals that of a reserved one`, () => {
    const one = app()
    return Effect.gen(function* () {
      const miss = yield* asked(one, { key })
      assert.deepStrictEqual([miss.cache, miss.writes], ["miss", writes])
      const spent = yield* balance
      const hit = yield* asked(one, { key })
      assert.deepStrictEqual([hit.cache, hit.writes, hit.text], ["hit", ["replay"], "Hello"])
      assert.deepInclude(hit.head, { provider: "alpha", cacheHit: true, generationId: hit.metadata.generationId ?? "" })
      assert.deepInclude(hit.usage, { cache_hit: true, estimated_cost_usd: 0, cache_discount_usd: 0.00002 })
      assert.deepInclude(hit.metadata, { provider: "alpha", replayed: false })
      assert.deepStrictEqual(yield* balance, spent)

      // The path of a cache that is not in memory.
      const record = yield* recordOf(hit.metadata.generationId)
      assert.deepStrictEqual(hit.metadata.generation, record)
      const far = app({ peek: () => undefined })
      const reserved = yield* Effect.gen(function* () {
        yield* asked(far, { key })
        const hit = yield* asked(far, { key })
        assert.deepStrictEqual([hit.cache, hit.writes], ["hit", writes])
        return yield* recordOf(hit.metadata.generationId)
      }).pipe(Effect.provide(far.layer))
      assert.deepStrictEqual({ ...record, id: "" }, { ...reserved, id: "" })
      assert.isAbove(record.reservation.reservedNano, 0)
      assert.deepStrictEqual(one.notes.alerts, far.notes.alerts)
      assert.strictEqual((yield* (yield* LedgerReports).overview(0)).pending, 0)
    }).pipe(Effect.provide(one.layer))
  })
}

it.effect("a streamed hit is reserved first, because its client may leave before the end", () => {
  const one = app()
  return Effect.gen(function* () {
    yield* asked(one)
    const stream = { request: { stream: true } }
    const hit = yield* asked(one, stream)
    assert.deepStrictEqual([hit.cache, hit.writes], ["hit", inTwo])
    const scope = yield* Scope.make()
    const { metadata } = yield* Scope.provide(begun(stream), scope)
    yield* Scope.close(scope, Exit.void)
    assert.deepInclude(yield* recordOf(metadata.generationId), { cancelled: true, cacheHit: true })
  }).pipe(Effect.provide(one.layer))
})

it.effect("the fast path ignores answers that are too old, unwanted or another tenant's", () => {
  const one = app()
  return Effect.gen(function* () {
    yield* asked(one)
    for (const cacheControl of ["no-cache", "no-store"] as const) {
      const fresh = yield* asked(one, { cacheControl })
      assert.deepStrictEqual([fresh.cache, fresh.writes], ["bypass", inOne], cacheControl)
    }
    const other = yield* asked(one, { key: { id: "key_other" } })
    assert.deepStrictEqual([other.cache, other.writes], ["miss", inOne])
    yield* TestClock.adjust(testSettings.cache.ttlSeconds * 1000)
    const late = yield* asked(one)
    assert.deepStrictEqual([late.cache, late.writes], ["miss", inOne])
    assert.deepStrictEqual((yield* asked(one)).writes, ["replay"])
  }).pipe(Effect.provide(one.layer))
})

it.effect("the answer of a provider that is no longer allowed is not served, and none without candidates", () => {
  const one = app()
  return Effect.gen(function* () {
    const preferring = (provider: Partial<NonNullable<ChatRequest["provider"]>>) => ({
      request: { provider: { allow_fallbacks: true, ...provider } }
    })
    yield* asked(one)
    const ignoring = yield* asked(one, preferring({ ignore: ["alpha"] }))
    assert.deepStrictEqual([ignoring.text, ignoring.cache, ignoring.writes], ["from beta", "miss", inOne])
    const nobody = preferring({ ignore: ["alpha", "beta"] })
    assert.deepStrictEqual(yield* refused(one, nobody), ["NoEligibleProvider", []])
  }).pipe(Effect.provide(one.layer))
})

it.effect("402 if the budget has no room, before 403 by the whitelist; neither leaves a record", () => {
  const one = app()
  return Effect.gen(function* () {
    yield* asked(one)
    const before = yield* balance
    const spentUp = { monthlyBudgetNano: before?.spentNano ?? 0 }
    const allowedModels = ["other/*"]
    assert.deepStrictEqual(yield* refused(one, { key: spentUp }), ["BudgetExceeded", ["replay", ...boundThenInLine]])
    assert.deepStrictEqual(one.notes.alerts.at(-1), true)
    const both = { key: { ...spentUp, allowedModels } }
    assert.deepStrictEqual(yield* refused(one, both), ["BudgetExceeded", inLine])
    const listed = { key: { ...capped, allowedModels } }
    assert.deepStrictEqual(yield* refused(one, listed), ["ModelNotAllowed", ["reserve", "void"]])
    assert.deepStrictEqual(yield* balance, before)
    assert.strictEqual(
      (yield* (yield* GenerationStore).list({ keyId: KEY, limit: 10, cursor: null })).generations.length,
      1
    )
  }).pipe(Effect.provide(one.layer))
})

it.effect("403 by the privacy guard, even if the answer was stored while it was off", () => {
  const one = app()
  return Effect.gen(function* () {
    const request = { messages: [{ role: "user" as const, content: "Write to ann@example.com" }] }
    yield* asked(one, { request })
    assert.deepStrictEqual((yield* asked(one, { request })).writes, ["replay"])
    const guarded = { request, key: { privacy: "block" as const } }
    assert.deepStrictEqual(yield* refused(one, guarded), ["PrivacyBlocked", []])
    // The masked request has another cache key.
    const masked = { request, key: { privacy: "mask" as const } }
    assert.deepStrictEqual((yield* asked(one, masked)).cache, "miss")
    assert.deepStrictEqual((yield* asked(one, masked)).writes, ["replay"])
  }).pipe(Effect.provide(one.layer))
})

it.effect("with room for a part of the worst case only, it is reserved, limited and answered as usual", () => {
  const one = app()
  return Effect.gen(function* () {
    yield* asked(one)
    const spentNano = (yield* balance)?.spentNano ?? 0
    const hit = yield* asked(one, { key: { monthlyBudgetNano: spentNano + 100_000 } })
    assert.deepStrictEqual([hit.cache, hit.writes], ["hit", ["replay", ...boundThenInLine, "reserve", "settle"]])
    assert.isAtMost((yield* recordOf(hit.metadata.generationId)).reservation.reservedNano, 100_000)
  }).pipe(Effect.provide(one.layer))
})

it.effect("it waits for the reservations of the key's other requests", () => {
  const one = app()
  return Effect.gen(function* () {
    const ledger = yield* Ledger
    yield* asked(one)
    const capNano = 10_000_000
    const reservation = { keyId: KEY, ownerId: null, model: "test/small", month: "1970-01", createdAtMs: 0 }
    const held = { ...reservation, generationId: "gen_held", leaseMs: 60_000, processId: "another" }
    yield* ledger.reserve({ ...held, amountNano: capNano - 20_000, capNano })
    const waiting = yield* Effect.forkChild(asked(one, { key: { monthlyBudgetNano: capNano } }), {
      startImmediately: true
    })
    yield* TestClock.adjust(400)
    assert.isUndefined(waiting.pollUnsafe())
    yield* ledger.void("gen_held")
    yield* TestClock.adjust(200)
    assert.strictEqual((yield* Fiber.join(waiting)).cache, "hit")
    assert.strictEqual((yield* balance)?.reservedNano, 0)
  }).pipe(Effect.provide(one.layer))
})

it.effect("503 if the ledger does not answer; nothing is reserved, and the tokens are given back", () => {
  const one = app()
  return Effect.gen(function* () {
    yield* asked(one, { key: capped })
    const before = yield* remaining
    one.notes.replaying = Effect.fail(new StoreError({ dependency: "database", cause: null }))
    assert.deepStrictEqual(yield* refused(one, { key: capped }), ["DependencyUnavailable", ["replay"]])
    assert.strictEqual((yield* balance)?.reservedNano, 0)
    one.notes.replaying = Effect.void
    assert.strictEqual((yield* asked(one, { key: capped })).cache, "hit")
    assert.strictEqual(yield* remaining, before)
  }).pipe(Effect.provide(one.layer))
})

/** The tokens that remain of the key's minute. */
const remaining = Effect.gen(function* () {
  const limiter = yield* Limits
  const asking = { keyId: KEY, leaseId: "looking", limits, tokens: 0, nowMs: 0, leaseMs: 1_000 }
  const { tokens } = yield* limiter.acquire(asking)
  yield* limiter.release({ keyId: KEY, ownerId: null, leaseId: "looking" })
  return tokens.remaining
})

it.effect("a client that leaves during the write leaves a record and no reservation", () => {
  const one = app()
  return Effect.gen(function* () {
    yield* asked(one, { key: capped })
    const [isWriting, isOpen] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    one.notes.replaying = Effect.andThen(Deferred.succeed(isWriting, undefined), Deferred.await(isOpen))
    const hit = yield* Effect.forkChild(asked(one, { key: capped }), { startImmediately: true })
    yield* Deferred.await(isWriting)
    const leaving = yield* Effect.forkChild(Fiber.interrupt(hit), { startImmediately: true })
    yield* Deferred.succeed(isOpen, undefined)
    yield* Fiber.join(leaving)
    const { generations } = yield* (yield* GenerationStore).list({ keyId: KEY, limit: 10, cursor: null })
    assert.deepStrictEqual(
      generations.map(({ cacheHit }) => cacheHit),
      [true, false]
    )
    assert.deepStrictEqual(one.notes.writes, [...inTwo, "replay"])
    assert.strictEqual((yield* balance)?.reservedNano, 0)
  }).pipe(Effect.provide(one.layer))
})

it.effect("a retry with its Idempotency-Key gets the same answer without a write", () => {
  const one = app()
  return Effect.gen(function* () {
    yield* asked(one)
    const given = { idempotencyKey: { name: "order-1", secret: Redacted.make("tg-secret") } }
    const first = yield* asked(one, given)
    assert.deepStrictEqual(first.writes, ["replay"])
    const again = yield* asked(one, given)
    assert.deepStrictEqual(again.writes, [])
    assert.deepStrictEqual([again.head, again.usage], [first.head, first.usage])
    assert.isTrue(again.metadata.replayed)
  }).pipe(Effect.provide(one.layer))
})
