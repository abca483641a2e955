/**
 * Whole replies: a silent provider is told from a working one if another candidate could answer,
 * and the reply looks the same to the client.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import * as ConversationMemory from "../../../src/store/providerState/ConversationMemory.ts"
import { ProviderStats } from "../../../src/gateway/health/ProviderStats.ts"
import { Router } from "../../../src/gateway/routing/Router.ts"
import {
  CredentialsRefused,
  Cut,
  type ProviderReason,
  Rejected,
  ServerFault,
  TooLarge
} from "../../../src/providers/Provider.ts"
import { layerScripted, type Script, scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { keyWith, type PlanOptions, requestWith } from "../plans.ts"
import { ending, piece, routedFor, saying, stop } from "../scripts.ts"
import { gatewayOn, ran, recordOf } from "../streams.ts"

/** Providers of `test/small`, and how each was called: `alpha chat`, `beta chatStream`. */
const routerOn = (scripts: Readonly<Record<string, Script | ReadonlyArray<Script>>>, hidesReasoning = false) => {
  const heard = { calls: [] as Array<string>, aborted: [] as Array<string> }
  const providers = layerScripted(
    Object.entries(scripts).map(([slug, script]) => ({
      slug,
      config: { models: [{ ...scriptedOffer("test/small"), hidesReasoning }] },
      models: { "test/small": script },
      onCall: (_call, kind) => void heard.calls.push(`${slug} ${kind}`),
      onAbort: () => void heard.aborted.push(slug)
    }))
  )
  return {
    heard,
    layer: Router.layer({ retries: 1, continueStreams: true, hedgeAfterMs: null }).pipe(
      Layer.provideMerge(Layer.mergeAll(providers, Circuits.layerMemory, ProviderStats.layer, ConversationMemory.layer))
    )
  }
}

const good = { reply: saying("Hello") }

const routed = (options: PlanOptions = {}) =>
  Effect.gen(function* () {
    const request = yield* routedFor(options)
    const result = yield* Effect.result((yield* Router).reply(request))
    return {
      request,
      said: result._tag === "Success" ? result.success.answer : result.failure.reason._tag,
      told: request.log.record.attempts.map(({ errorType, latencyMs, provider }) => [provider, errorType, latencyMs])
    }
  })

/** Lets virtual time pass until the reply is there. */
const inTime = (ms: number, options: PlanOptions = {}) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(routed(options), { startImmediately: true })
    yield* TestClock.adjust(ms)
    return yield* Fiber.join(fiber)
  })

it.effect("a silent provider is aborted at the first-token limit, however long the reply may be", () => {
  const { heard, layer } = routerOn({ alpha: { hangs: true }, beta: { hangs: true }, gamma: good })
  return Effect.gen(function* () {
    const { said, told } = yield* inTime(240_000)
    assert.deepStrictEqual(said, saying("Hello"))
    assert.deepStrictEqual(told, [
      ["alpha", "timeout", 120_000],
      ["beta", "timeout", 120_000],
      ["gamma", null, 0]
    ])
    // The last candidate is asked for a whole reply, because none could take its place.
    assert.deepStrictEqual(heard.calls, ["alpha chatStream", "beta chatStream", "gamma chat"])
    assert.deepStrictEqual(heard.aborted, ["alpha", "beta"])
  }).pipe(Effect.provide(layer))
})

it.effect("a provider that begins in time is waited for, and its reply is the same", () => {
  const events = [119_999, piece("Hel"), 119_999, piece("lo"), 119_999, stop, ending()]
  const { heard, layer } = routerOn({ alpha: { events }, beta: good })
  return Effect.gen(function* () {
    const { request, said } = yield* inTime(359_997)
    assert.deepStrictEqual(said, saying("Hello"))
    assert.deepStrictEqual(heard.calls, ["alpha chatStream"])
    assert.deepInclude(request.log.record.attempts[0], { provider: "alpha", status: "ok", latencyMs: 359_997 })
    const { firstTokenMs, wholeMs } = (yield* ProviderStats).snapshot("alpha")
    assert.deepStrictEqual([firstTokenMs, wholeMs?.p50 === undefined], [null, false])
  }).pipe(Effect.provide(layer))
})

it.effect("a provider that breaks off, stalls or never ends falls back to the next", () =>
  Effect.gen(function* () {
    const told = (events: NonNullable<Script["events"]>, ms: number) => {
      const { heard, layer } = routerOn({ alpha: { events }, beta: good })
      return Effect.map(inTime(ms), ({ request, said }) => {
        assert.deepStrictEqual(said, saying("Hello"))
        assert.deepStrictEqual(heard.calls, ["alpha chatStream", "beta chat"])
        return [request.log.record.attempts[0]?.errorType, request.log.record.attempts[0]?.latencyMs]
      }).pipe(Effect.provide(layer))
    }
    const cut = new Cut({ detail: "reset" })
    assert.deepStrictEqual(yield* told([piece("Hel"), 1_000, cut], 1_000), ["stream_cut", 1_000])
    assert.deepStrictEqual(yield* told([piece("Hel"), 120_001, stop, ending()], 120_000), ["timeout", 120_000])
    assert.deepStrictEqual(yield* told([piece("Hel"), stop], 0), ["malformed", 0])
    const trickle = Array.from({ length: 50 }, () => [piece("x"), 14_000]).flat()
    assert.deepStrictEqual(yield* told([...trickle, stop, ending()], 600_000), ["timeout", 600_000])
    const large = Array.from({ length: 33 }, () => piece("x".repeat(1_048_576)))
    const [tooLarge] = yield* told([...large, 5_000, stop, ending()], 0)
    assert.strictEqual(tooLarge, "too_large")
  })
)

it.effect.each<readonly [string, PlanOptions]>([
  ["is short", { outputTokens: 187 }],
  ["may go to one provider only", { request: requestWith({ provider: { allow_fallbacks: false } }) }],
  [
    "is of a model with reasoning, which is silent while it works",
    { request: requestWith({ reasoning_effort: "high" }) }
  ],
  ["is in sound", { request: requestWith({ modalities: ["text", "audio"] }) }]
])("one that %s is asked for as what it is", ([, options]) => {
  const { heard, layer } = routerOn({ alpha: good, beta: good })
  return Effect.gen(function* () {
    assert.deepStrictEqual((yield* routed(options)).said, saying("Hello"))
    assert.deepStrictEqual(heard.calls, ["alpha chat"])
    // With a slightly higher limit it is streamed.
    yield* routed({ outputTokens: 188 })
    assert.deepStrictEqual(heard.calls, ["alpha chat", "alpha chatStream"])
  }).pipe(Effect.provide(layer))
})

it.effect("a reply of a single provider, or of a model with hidden reasoning, is requested whole", () => {
  const single = routerOn({ alpha: good })
  const thinking = routerOn({ alpha: good, beta: good }, true)
  return Effect.gen(function* () {
    yield* routed().pipe(Effect.provide(single.layer))
    yield* routed().pipe(Effect.provide(thinking.layer))
    assert.deepStrictEqual([...single.heard.calls, ...thinking.heard.calls], ["alpha chat", "alpha chat"])
  })
})

const rejected = (message: string, more: Partial<Rejected> = {}) =>
  new Rejected({ status: 400, message, param: null, code: null, contextLength: false, ...more })

it.effect.each<readonly [string, ProviderReason]>([
  ["its organisation must be verified", rejected("must be verified to stream this model", { param: "stream" })],
  ["it knows no tools in streams", rejected("this model doesn't support tool use in streaming mode")],
  ["the key may not stream", new CredentialsRefused({ status: 403 })],
  ["there is no such endpoint", new ServerFault({ status: 404, retryAfterMs: null })]
])("a provider that does not stream because %s answers whole, and is not asked to again", ([, failure]) => {
  const { heard, layer } = routerOn({ alpha: [{ failure }, good], beta: good })
  return Effect.gen(function* () {
    const { request, said } = yield* routed()
    assert.deepStrictEqual(said, saying("Hello"))
    assert.deepStrictEqual(
      request.log.record.attempts.map(({ status }) => status),
      ["ok"]
    )
    yield* routed()
    assert.deepStrictEqual(heard.calls, ["alpha chatStream", "alpha chat", "alpha chat"])
    // Nothing is known yet about requests with tools.
    yield* routed({ request: requestWith({ tools: [{}] }) })
    assert.strictEqual(heard.calls.at(-1), "alpha chatStream")
    const { state } = yield* (yield* Circuits).state(request.plan.ranked[0] ?? assert.fail("nobody"))
    assert.strictEqual(state, "closed")
  }).pipe(Effect.provide(layer))
})

it.effect("a client's error is not asked again whole, unless the request has several choices", () => {
  const failure = rejected("temperature is out of range", { param: "temperature" })
  const { heard, layer } = routerOn({ alpha: [{ failure }, { failure }, good], beta: good })
  return Effect.gen(function* () {
    assert.strictEqual((yield* routed()).said, "InvalidRequest")
    assert.deepStrictEqual(heard.calls, ["alpha chatStream"])
    assert.deepStrictEqual((yield* routed({ choices: 2 })).said, saying("Hello"))
    assert.deepStrictEqual(heard.calls.slice(1), ["alpha chatStream", "alpha chat"])
  }).pipe(Effect.provide(layer))
})

it.effect("any other failure falls back to the next provider", () => {
  const { heard, layer } = routerOn({ alpha: { failure: new TooLarge({ limitBytes: 1 }) }, beta: good })
  return Effect.gen(function* () {
    assert.deepStrictEqual((yield* routed()).said, saying("Hello"))
    assert.deepStrictEqual(heard.calls, ["alpha chatStream", "beta chat"])
  }).pipe(Effect.provide(layer))
})

/** The receipt of a client that leaves the whole gateway after `ms`. */
const leftAfter = (ms: number) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const asked = ran({ request: { stream: false } })
    const fiber = yield* Effect.forkChild(Scope.provide(asked, scope), { startImmediately: true })
    yield* TestClock.adjust(ms)
    yield* Fiber.interrupt(fiber)
    yield* Scope.close(scope, Exit.void)
    const { generations } = yield* (yield* GenerationStore).list({ keyId: keyWith().id, limit: 1, cursor: null })
    return yield* recordOf(generations[0]?.id ?? "")
  })

it.effect("a client that leaves pays for the reply so far, and for no part of a failed one before it", () => {
  const words = (count: number) => Array.from({ length: count }, () => [piece("word "), 1_000]).flat()
  const { heard, layer } = gatewayOn({ alpha: { events: [...words(3), 60_000, stop, ending()] }, beta: good })
  const second = gatewayOn({
    alpha: { events: [...words(3), new Cut({ detail: "reset" })] },
    beta: { events: [...words(1), 60_000, stop, ending()] },
    gamma: good
  })
  return Effect.gen(function* () {
    const one = yield* leftAfter(5_000).pipe(Effect.provide(layer))
    assert.deepStrictEqual(heard.aborted, ["alpha"])
    assert.deepInclude(one, { provider: "alpha", cancelled: true, usageSource: "counted", errorType: null })
    assert.strictEqual(one.usage.completionTokens, 4)
    const two = yield* leftAfter(5_000).pipe(Effect.provide(second.layer))
    assert.deepInclude(two, { provider: "beta", cancelled: true, fallbackUsed: true })
    assert.strictEqual(two.usage.completionTokens, 2)
  })
})
