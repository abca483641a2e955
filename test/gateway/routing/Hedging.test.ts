/** Hedged calls: when the second call is made, which one wins, and what the slower one costs. */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import * as ConversationMemory from "../../../src/store/providerState/ConversationMemory.ts"
import { ProviderStats } from "../../../src/gateway/health/ProviderStats.ts"
import { Router } from "../../../src/gateway/routing/Router.ts"
import { Rejected, ServerFault } from "../../../src/providers/Provider.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { defaultSettings } from "../../../src/Settings.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import { keyWith } from "../plans.ts"
import { ending, routedFor, piece, saying, scripted, stop } from "../scripts.ts"
import { type Asked, gatewayOn, ran, recordOf, streamed } from "../streams.ts"

const hedging = { routing: { ...defaultSettings.routing, retries: 0, hedgeAfterMs: 500 } }
const hedgedGateway = (scripts: Parameters<typeof gatewayOn>[0]) => gatewayOn(scripts, { settings: hedging })

const after = (ms: number, text: string): Script => ({ events: [ms, piece(text), stop, ending()] })
const failsAfter = (ms: number): Script => ({
  delayMs: ms,
  failure: new ServerFault({ status: 500, retryAfterMs: null })
})

/** Lets virtual time pass until the answer has ended. */
const inTime = (ms: number, given: Asked = {}) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(streamed(given), { startImmediately: true })
    yield* TestClock.adjust(ms)
    return yield* Fiber.join(fiber)
  })

const told = ({ record }: Pick<Effect.Success<ReturnType<typeof streamed>>, "record">) =>
  record.attempts.map(({ charge, errorType, provider, status }) => [provider, status, errorType, charge?.totalNano])

/** The record of a request without an answer. */
const lastRecord = Effect.gen(function* () {
  const { generations } = yield* (yield* GenerationStore).list({ keyId: keyWith().id, limit: 1, cursor: null })
  return yield* recordOf(generations[0]?.id ?? "")
})

it.effect("off by default: a slow provider is waited for", () => {
  const { heard, layer } = gatewayOn({ alpha: after(5_000, "late"), beta: after(0, "soon") })
  return Effect.gen(function* () {
    assert.strictEqual((yield* inTime(5_000)).text, "late")
    assert.deepStrictEqual(heard.calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect(
  "the call with the first token answers; the slower call is aborted, recorded and charged for its prompt",
  () => {
    const { heard, layer } = hedgedGateway({
      alpha: after(5_000, "late"),
      beta: after(100, "soon"),
      gamma: after(0, "x")
    })
    return Effect.gen(function* () {
      const answered = yield* inTime(600)
      assert.deepStrictEqual([answered.text, answered.head.provider], ["soon", "beta"])
      assert.deepStrictEqual(heard.calls, ["alpha", "beta"])
      assert.deepStrictEqual(heard.aborted, ["alpha"])
      assert.deepStrictEqual(told(answered), [
        ["beta", "ok", null, undefined],
        ["alpha", "cancelled", "hedge_lost", 7_000]
      ])
      assert.deepInclude(answered.usage, { prompt_tokens: 10 + 7, completion_tokens: 5 })
      assert.strictEqual(answered.record.cost.billedNano, 20_000 + 20_000 + 7_000)
      assert.deepInclude(answered.record, { provider: "beta", fallbackUsed: true, errorType: null })
      const slow = (yield* ProviderStats).snapshot("alpha", "test/small")
      assert.deepInclude(slow, { successRate: 1, firstTokenMs: { p50: 600, p99: 600 } })
    }).pipe(Effect.provide(layer))
  }
)

it.effect("the first call may still win", () => {
  const { heard, layer } = hedgedGateway({ alpha: after(700, "first"), beta: after(5_000, "second") })
  return Effect.gen(function* () {
    const answered = yield* inTime(700)
    assert.deepStrictEqual([answered.text, answered.record.fallbackUsed], ["first", false])
    assert.deepStrictEqual(heard.aborted, ["beta"])
    assert.deepStrictEqual(told(answered), [
      ["alpha", "ok", null, undefined],
      ["beta", "cancelled", "hedge_lost", 14_000]
    ])
  }).pipe(Effect.provide(layer))
})

it.effect("no second call if the first answers or fails in time; a failure falls back as usual", () => {
  const quick = hedgedGateway({ alpha: after(499, "quick"), beta: after(0, "x") })
  const failing = hedgedGateway({ alpha: failsAfter(499), beta: after(0, "next"), gamma: after(0, "x") })
  return Effect.gen(function* () {
    assert.strictEqual((yield* inTime(499).pipe(Effect.provide(quick.layer))).text, "quick")
    assert.deepStrictEqual(quick.heard.calls, ["alpha"])
    const next = yield* inTime(499).pipe(Effect.provide(failing.layer))
    assert.strictEqual(next.text, "next")
    assert.deepStrictEqual(failing.heard.calls, ["alpha", "beta"])
  })
})

it.effect("one failed call costs nothing and does not fail the request while the other runs", () => {
  const { layer } = hedgedGateway({ alpha: failsAfter(600), beta: after(1_000, "second") })
  const other = hedgedGateway({ alpha: after(1_500, "first"), beta: failsAfter(100) })
  return Effect.gen(function* () {
    const second = yield* inTime(1_500).pipe(Effect.provide(layer))
    assert.strictEqual(second.text, "second")
    assert.deepStrictEqual(told(second), [
      ["alpha", "error", "server_error", undefined],
      ["beta", "ok", null, undefined]
    ])
    const first = yield* inTime(1_500).pipe(Effect.provide(other.layer))
    assert.strictEqual(first.text, "first")
    assert.deepStrictEqual(told(first), [
      ["beta", "error", "server_error", undefined],
      ["alpha", "ok", null, undefined]
    ])
  })
})

it.effect("if both fail, the remaining candidates are tried; a client's error ends the search", () => {
  const { heard, layer } = hedgedGateway({ alpha: failsAfter(600), beta: failsAfter(100), gamma: after(0, "third") })
  const rejected = new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })
  const refusing = hedgedGateway({
    alpha: { delayMs: 600, failure: rejected },
    beta: failsAfter(200),
    gamma: after(0, "x")
  })
  return Effect.gen(function* () {
    assert.strictEqual((yield* inTime(600).pipe(Effect.provide(layer))).text, "third")
    assert.deepStrictEqual(heard.calls, ["alpha", "beta", "gamma"])
    const error = yield* Effect.flip(inTime(700).pipe(Effect.provide(refusing.layer)))
    assert.deepInclude(error, { _tag: "GatewayError" })
    assert.deepInclude("reason" in error ? error.reason : null, { _tag: "InvalidRequest" })
    assert.deepStrictEqual(refusing.heard.calls, ["alpha", "beta"])
  })
})

it.effect.each<readonly [string, Asked]>([
  ["fallbacks are not allowed", { request: { provider: { allow_fallbacks: false } } }],
  [
    "the budget has no room for a second prompt",
    { key: { monthlyBudgetNano: 18_000 + 13_999 }, request: { max_tokens: 1 } }
  ]
])("no second call where %s", ([, given]) => {
  const { heard, layer } = hedgedGateway({ alpha: after(1_000, "late"), beta: after(0, "x") })
  return Effect.gen(function* () {
    assert.strictEqual((yield* inTime(1_000, given)).text, "late")
    assert.deepStrictEqual(heard.calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("a whole reply is not hedged, because its first token is not visible", () => {
  const { heard, layer } = hedgedGateway({ alpha: { delayMs: 5_000, reply: saying("late") }, beta: after(0, "x") })
  return Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.scoped(ran({ request: { stream: false } })), {
      startImmediately: true
    })
    yield* TestClock.adjust(5_000)
    assert.strictEqual((yield* Fiber.join(fiber)).completed._tag, "Reply")
    assert.deepStrictEqual(heard.calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("the second call is never at the same provider or with another model", () => {
  const { heard, layer } = scripted({ alpha: after(1_000, "late"), beta: after(0, "x") })
  const routerLayer = Router.layer({ retries: 0, continueStreams: true, hedgeAfterMs: 500 }).pipe(
    Layer.provideMerge(Layer.mergeAll(layer, Circuits.layerMemory, ProviderStats.layer, ConversationMemory.layer))
  )
  return Effect.gen(function* () {
    const router = yield* Router
    const [alpha, beta] = (yield* routedFor()).plan.ranked
    if (alpha === undefined || beta === undefined) return assert.fail("two candidates were expected")
    const large = { ...beta.offer, id: "test/large" }
    const ranked = [alpha, { ...alpha, offer: { ...alpha.offer } }, { provider: beta.provider, offer: large }]
    const request = yield* routedFor({ streamed: true, ranked })
    const fiber = yield* Effect.forkChild(router.stream(request), { startImmediately: true })
    yield* TestClock.adjust(1_000)
    assert.strictEqual((yield* Fiber.join(fiber)).candidate, alpha)
    assert.deepStrictEqual(heard.calls, ["alpha"])
  }).pipe(Effect.scoped, Effect.provide(routerLayer))
})

/** A client that asks, and leaves a second later. */
const leftAfterOneSecond = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const fiber = yield* Effect.forkChild(Scope.provide(ran({}), scope), { startImmediately: true })
  yield* TestClock.adjust(1_000)
  yield* Fiber.interrupt(fiber)
  yield* Scope.close(scope, Exit.void)
})

it.effect("a client that leaves during both calls pays for both prompts, and both are aborted", () => {
  const { heard, layer } = hedgedGateway({ alpha: after(5_000, "x"), beta: after(5_000, "y") })
  return Effect.gen(function* () {
    yield* leftAfterOneSecond
    assert.deepStrictEqual(heard.aborted, ["alpha", "beta"])
    const record = yield* lastRecord
    assert.deepInclude(record, { cancelled: true, provider: "alpha" })
    assert.strictEqual(record.cost.billedNano, 7_000 + 14_000)
    assert.deepStrictEqual(
      record.attempts.map(({ provider, status }) => [provider, status]),
      [
        ["alpha", "cancelled"],
        ["beta", "cancelled"]
      ]
    )
  }).pipe(Effect.provide(layer))
})

it.effect("a client that leaves after the first call failed pays for the second prompt, once", () => {
  const { heard, layer } = hedgedGateway({ alpha: failsAfter(600), beta: after(5_000, "y") })
  return Effect.gen(function* () {
    yield* leftAfterOneSecond
    assert.deepStrictEqual(heard.aborted, ["beta"])
    const record = yield* lastRecord
    assert.deepInclude(record, { cancelled: true, provider: "beta" })
    assert.strictEqual(record.cost.billedNano, 14_000)
    assert.deepInclude(record.usage, { promptTokens: 7, completionTokens: 0 })
  }).pipe(Effect.provide(layer))
})

it.effect.each([
  ["while both are called", after(5_000, "x")],
  ["once the first has failed", failsAfter(600)]
] as const)("a client whose deadline ends %s gets no answer and pays nothing", ([, alpha]) => {
  const { heard, layer } = hedgedGateway({ alpha, beta: after(5_000, "y"), gamma: after(0, "z") })
  return Effect.gen(function* () {
    const asked = inTime(2_000, {
      key: { monthlyBudgetNano: 1_000_000_000 },
      deadline: { ms: 2_000, explicit: true }
    })
    const error = yield* Effect.flip(asked)
    assert.strictEqual("reason" in error ? error.reason._tag : null, "ProvidersTimedOut")
    assert.notInclude(heard.calls, "gamma")
    assert.include(heard.aborted, "beta")
    const record = yield* lastRecord
    assert.deepInclude(record, { cancelled: false, errorType: "provider_timeout" })
    assert.strictEqual(record.cost.billedNano, 0)
    assert.deepInclude(record.usage, { promptTokens: 0, completionTokens: 0 })
    assert.deepStrictEqual(
      told({ record }).map(([provider, status, type, paid]) => [provider, type, status === "cancelled", paid]),
      [
        ["alpha", "delayMs" in alpha ? "server_error" : "client_timeout", false, undefined],
        ["beta", "client_timeout", false, undefined]
      ]
    )
    const balances = yield* (yield* Ledger).balances([keyWith().id], "1970-01")
    assert.deepStrictEqual(balances.get(keyWith().id), { reservedNano: 0, spentNano: 0 })
  }).pipe(Effect.provide(layer))
})
