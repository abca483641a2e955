import { assert, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { gatewayError, ModelNotFound, type Reason } from "../../../src/domain/Errors.ts"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import { type ClientDeadline } from "../../../src/gateway/request/ClientDeadline.ts"
import * as ConversationMemory from "../../../src/store/providerState/ConversationMemory.ts"
import { ProviderStats } from "../../../src/gateway/health/ProviderStats.ts"
import { Router } from "../../../src/gateway/routing/Router.ts"
import {
  CredentialsRefused,
  Cut,
  Malformed,
  Rejected,
  ServerFault,
  Throttled,
  TimedOut,
  Unreachable,
  Unsupported
} from "../../../src/providers/Provider.ts"
import { layerScripted, type Script, scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { type PlanOptions, requestWith } from "../plans.ts"
import { broken, ending, fails, piece, routedFor, saying, scripted, stop } from "../scripts.ts"

const routerOn = (scripts: Readonly<Record<string, Script | ReadonlyArray<Script>>>, retries = 1) => {
  const { heard, layer } = scripted(scripts)
  return {
    heard,
    layer: Router.layer({ retries, continueStreams: true, hedgeAfterMs: null }).pipe(
      Layer.provideMerge(Layer.mergeAll(layer, Circuits.layerMemory, ProviderStats.layer, ConversationMemory.layer))
    )
  }
}

const routed = (options: PlanOptions = {}, affordableTokens: number | null = null) =>
  Effect.gen(function* () {
    const router = yield* Router
    const request = yield* routedFor(options, affordableTokens)
    const result = yield* Effect.result(router.reply(request))
    return { request, result }
  })

const contentOf = ({ result }: Effect.Success<ReturnType<typeof routed>>): unknown =>
  result._tag === "Success" ? result.success.answer.choices[0]?.message.content : result.failure.reason._tag

const reasonOf = ({ result }: Effect.Success<ReturnType<typeof routed>>): Reason => {
  assert.strictEqual(result._tag, "Failure")
  return result._tag === "Failure" ? result.failure.reason : assert.fail("answered")
}

const good = { reply: saying("Hello") }
const sole = { request: requestWith({ provider: { allow_fallbacks: false } }) }

/** Lets virtual time pass until the effect has ended. */
const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>, duration: number) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    yield* TestClock.adjust(duration)
    return yield* Fiber.join(fiber)
  })

it.effect.each([
  ["unreachable", new Unreachable({ detail: "refused" }), null],
  ["timeout", new TimedOut({ phase: "connect" }), null],
  ["rate_limited", new Throttled({ status: 429, retryAfterMs: 1_000 }), 429],
  ["server_error", new ServerFault({ status: 503, retryAfterMs: null }), 503],
  ["credentials_refused", new CredentialsRefused({ status: 401 }), 401],
  ["malformed", new Malformed({ detail: "<html>" }), null],
  ["stream_cut", new Cut({ detail: "reset" }), null]
] as const)("falls back at once on %s, and the receipt says so", ([errorType, reason, httpStatus]) => {
  const { heard, layer } = routerOn({ alpha: fails(reason), beta: good })
  return Effect.gen(function* () {
    const answered = yield* routed()
    assert.strictEqual(contentOf(answered), "Hello")
    assert.isTrue(answered.result._tag === "Success" && answered.result.success.fallbackUsed)
    assert.deepStrictEqual(heard.calls, ["alpha", "beta"])
    const base = { model: "test/small", latencyMs: 0, startedMs: 0, endedMs: 0 }
    assert.deepStrictEqual(answered.request.log.record.attempts, [
      { ...base, provider: "alpha", status: errorType === "timeout" ? "timeout" : "error", errorType, httpStatus },
      { ...base, provider: "beta", status: "ok", errorType: null, httpStatus: 200 }
    ])
  }).pipe(Effect.provide(layer))
})

it.effect("the client's own fault ends the search: no fallback, no retry", () => {
  const rejected = new Rejected({ status: 400, message: "no", param: "stop", code: null, contextLength: false })
  const { heard, layer } = routerOn({ alpha: fails(rejected), beta: good })
  return Effect.gen(function* () {
    const reason = reasonOf(yield* routed())
    assert.deepInclude(reason, { _tag: "InvalidRequest", message: "no", param: "stop", provider: "alpha" })
    assert.deepStrictEqual(heard.calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("the last provider is retried after its Retry-After", () => {
  const throttled = fails(new Throttled({ status: 429, retryAfterMs: 3_000 }))
  const { heard, layer } = routerOn({ alpha: [throttled, good] })
  return Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(routed(), { startImmediately: true })
    yield* TestClock.adjust(2_999)
    assert.deepStrictEqual(heard.calls, ["alpha"])
    yield* TestClock.adjust(1)
    const answered = yield* Fiber.join(fiber)
    assert.strictEqual(contentOf(answered), "Hello")
    assert.isTrue(answered.result._tag === "Success" && !answered.result.success.fallbackUsed)
    assert.deepStrictEqual(
      answered.request.log.record.attempts.map(({ status }) => status),
      ["error", "ok"]
    )
  }).pipe(Effect.provide(layer))
})

it.effect("a Retry-After above ten seconds is not waited for", () => {
  const { heard, layer } = routerOn({ alpha: fails(new Throttled({ status: 429, retryAfterMs: 10_001 })) })
  return Effect.gen(function* () {
    const reason = reasonOf(yield* routed(sole))
    assert.deepInclude(reason, { _tag: "ProviderRateLimited", retryAfterMs: 10_001 })
    assert.deepStrictEqual(heard.calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect.each<readonly [number, ClientDeadline, number]>([
  [9_000, { ms: 600_000, explicit: false }, 2],
  [11_000, { ms: 600_000, explicit: false }, 1],
  [3_000, { ms: 2_000, explicit: false }, 1],
  [30_000, { ms: 31_000, explicit: true }, 2],
  [30_000, { ms: 29_000, explicit: true }, 1]
])("asked for %d ms, a client with the deadline %o sees so many calls: %d", ([retryAfterMs, deadline, calls]) => {
  const { heard, layer } = routerOn({ alpha: [fails(new Throttled({ status: 429, retryAfterMs })), good] })
  return Effect.gen(function* () {
    yield* inTime(routed({ deadline }), 60_000)
    assert.strictEqual(heard.calls.length, calls)
  }).pipe(Effect.provide(layer))
})

it.effect("a call ends with the client's deadline, without a fallback and without counting for the circuit", () => {
  const { heard, layer } = routerOn({ alpha: { hangs: true }, beta: good })
  return Effect.gen(function* () {
    const { snapshot } = yield* ProviderStats
    for (let request = 0; request < 6; request++) {
      const startedAtMs = yield* Clock.currentTimeMillis
      const asked = routed({ startedAtMs, deadline: { ms: 2_000, explicit: true } })
      const { request, result } = yield* inTime(asked, 2_000)
      assert.strictEqual(reasonOf({ request, result })._tag, "ProvidersTimedOut")
      assert.deepInclude(request.log.record.attempts[0], {
        status: "timeout",
        errorType: "client_timeout",
        latencyMs: 2_000
      })
    }
    assert.deepStrictEqual(
      heard.calls,
      Array.from({ length: 6 }, () => "alpha")
    )
    assert.deepStrictEqual(heard.aborted, heard.calls)
    assert.strictEqual(snapshot("alpha", "test/small").calls, 0)
  }).pipe(Effect.provide(layer))
})

it.effect.each<readonly [number, number]>([
  [60_000, 59_000],
  [10_000, 9_500],
  [4_000, 600_000]
])("an SDK that is set to %d ms has its answer a moment before: after %d ms", ([ms, endMs]) => {
  const { layer } = routerOn({ alpha: { hangs: true } })
  return Effect.gen(function* () {
    const { request } = yield* inTime(routed({ deadline: { ms, explicit: false } }), endMs)
    assert.deepInclude(request.log.record.attempts[0], { status: "timeout", latencyMs: endMs })
  }).pipe(Effect.provide(layer))
})

it.effect("the next call has only the time that a failed call left of the deadline", () => {
  const { heard, layer } = routerOn({ alpha: { delayMs: 1_500, ...broken }, beta: { delayMs: 1_000, ...good } })
  return Effect.gen(function* () {
    const deadline = { ms: 2_000, explicit: true }
    const { request, result } = yield* inTime(routed({ deadline }), 2_000)
    assert.strictEqual(reasonOf({ request, result })._tag, "ProvidersTimedOut")
    assert.deepStrictEqual(
      request.log.record.attempts.map(({ errorType, latencyMs }) => [errorType, latencyMs]),
      [
        ["server_error", 1_500],
        ["client_timeout", 500]
      ]
    )
    assert.deepStrictEqual(heard.calls, ["alpha", "beta"])
  }).pipe(Effect.provide(layer))
})

it.effect("the client's deadline does not end a stream that has begun", () => {
  const events = [piece("Hel"), 5_000, piece("lo"), stop, ending()]
  const { layer } = routerOn({ alpha: { events } })
  return Effect.gen(function* () {
    const router = yield* Router
    const request = yield* routedFor({ streamed: true, deadline: { ms: 2_000, explicit: true } })
    const read = Effect.scoped(Effect.flatMap(router.stream(request), ({ answer }) => Stream.runCollect(answer.stream)))
    assert.lengthOf(yield* inTime(read, 5_000), 4)
  }).pipe(Effect.provide(layer))
})

it.effect("retries as often as the settings say, each after twice the pause, and only where a retry may help", () => {
  const { heard, layer } = routerOn({ alpha: broken }, 2)
  return Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(routed(), { startImmediately: true })
    yield* TestClock.adjust(250)
    assert.strictEqual(heard.calls.length, 2)
    yield* TestClock.adjust(499)
    assert.strictEqual(heard.calls.length, 2)
    yield* TestClock.adjust(1)
    assert.strictEqual(reasonOf(yield* Fiber.join(fiber))._tag, "ProvidersFailed")
    assert.strictEqual(heard.calls.length, 3)
    const refused = routerOn({ alpha: fails(new CredentialsRefused({ status: 401 })) }, 5)
    yield* routed().pipe(Effect.provide(refused.layer))
    assert.strictEqual(refused.heard.calls.length, 1)
  }).pipe(Effect.provide(layer))
})

it.effect("allow_fallbacks false asks only the first", () => {
  const { heard, layer } = routerOn({ alpha: broken, beta: good }, 0)
  return Effect.gen(function* () {
    const reason = reasonOf(yield* routed(sole))
    assert.strictEqual(reason._tag, "ProviderUnavailable")
    assert.deepStrictEqual(heard.calls, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("every call timed out: a timeout; any other failure among them: a failure", () =>
  Effect.gen(function* () {
    const timedOut = fails(new TimedOut({ phase: "connect" }))
    const tagWith = (alpha: Script, beta: Script) =>
      Effect.map(routed(), reasonOf).pipe(
        Effect.map(({ _tag }) => _tag),
        Effect.provide(routerOn({ alpha, beta }, 0).layer)
      )
    assert.strictEqual(yield* tagWith(timedOut, timedOut), "ProvidersTimedOut")
    assert.strictEqual(yield* tagWith(timedOut, broken), "ProvidersFailed")
    assert.strictEqual(yield* tagWith(broken, timedOut), "ProvidersFailed")
  })
)

it.effect("a whole reply that is late is aborted, and the next provider is asked", () => {
  const { heard, layer } = routerOn({ alpha: { hangs: true }, beta: good })
  return Effect.gen(function* () {
    // A short reply is asked for whole, and sends nothing until it is done.
    const fiber = yield* Effect.forkChild(routed({ outputTokens: 100 }), { startImmediately: true })
    yield* TestClock.adjust(599_999)
    assert.deepStrictEqual(heard.aborted, [])
    yield* TestClock.adjust(1)
    const answered = yield* Fiber.join(fiber)
    assert.deepStrictEqual(heard, { ...heard, calls: ["alpha", "beta"], aborted: ["alpha"] })
    assert.deepInclude(answered.request.log.record.attempts[0], { status: "timeout", latencyMs: 600_000 })
  }).pipe(Effect.provide(layer))
})

it.effect("after five failures in a row a provider is skipped without a call, and asked again after its pause", () => {
  const { heard, layer } = routerOn({ alpha: [broken, broken, broken, broken, broken, good], beta: good }, 0)
  return Effect.gen(function* () {
    for (let request = 0; request < 5; request++) yield* routed()
    assert.strictEqual(heard.calls.filter((slug) => slug === "alpha").length, 5)
    const skipped = yield* routed()
    assert.strictEqual(heard.calls.filter((slug) => slug === "alpha").length, 5)
    assert.deepInclude(skipped.request.log.record.attempts[0], {
      provider: "alpha",
      status: "skipped",
      errorType: "circuit_open",
      httpStatus: null
    })
    assert.strictEqual(contentOf(skipped), "Hello")
    yield* TestClock.adjust(1_000)
    const probed = yield* routed()
    assert.deepInclude(probed.request.log.record.attempts[0], { provider: "alpha", status: "ok" })
    const closed = yield* routed()
    assert.deepInclude(closed.request.log.record.attempts[0], { provider: "alpha", status: "ok" })
  }).pipe(Effect.provide(layer))
})

it.effect("with every circuit open no provider is called, and Retry-After is set", () => {
  const { heard, layer } = routerOn({ alpha: broken }, 0)
  return Effect.gen(function* () {
    for (let request = 0; request < 5; request++) yield* routed()
    const reason = reasonOf(yield* routed())
    assert.strictEqual(heard.calls.length, 5)
    assert.deepInclude(reason, { _tag: "ProviderUnavailable", retryAfterMs: 1_000 })
  }).pipe(Effect.provide(layer))
})

it.effect("a provider that refuses the gateway's credentials gets no calls for half a minute", () => {
  const { heard, layer } = routerOn({ alpha: [fails(new CredentialsRefused({ status: 401 })), good], beta: good }, 0)
  return Effect.gen(function* () {
    assert.strictEqual(contentOf(yield* routed()), "Hello")
    assert.deepStrictEqual(heard.calls, ["alpha", "beta"])
    yield* TestClock.adjust(29_999)
    const meanwhile = yield* routed()
    assert.deepInclude(meanwhile.request.log.record.attempts[0], {
      provider: "alpha",
      status: "skipped",
      errorType: "credentials_refused"
    })
    yield* TestClock.adjust(1)
    const mended = yield* routed()
    assert.deepInclude(mended.request.log.record.attempts[0], { provider: "alpha", status: "ok" })
    assert.deepStrictEqual(heard.calls, ["alpha", "beta", "beta", "alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("a provider that does not know the model falls back to the next one", () => {
  const missing = fails(
    new Rejected({ status: 404, message: "no model", param: "model", code: null, contextLength: false })
  )
  const { layer } = routerOn({ alpha: missing, beta: good })
  return Effect.gen(function* () {
    const answered = yield* routed()
    assert.strictEqual(contentOf(answered), "Hello")
    assert.deepInclude(answered.request.log.record.attempts[0], {
      status: "error",
      errorType: "rejected",
      httpStatus: 404
    })
    // It fails every request for the model, so its circuit opens as for other failures.
    for (let request = 0; request < 4; request++) yield* routed()
    const sixth = yield* routed()
    assert.strictEqual(contentOf(sixth), "Hello")
    assert.deepInclude(sixth.request.log.record.attempts[0], { status: "skipped", errorType: "circuit_open" })
    assert.deepInclude((yield* ProviderStats).snapshot("alpha"), { calls: 5, successRate: 0 })
  }).pipe(Effect.provide(layer))
})

it.effect("when all have failed, the last Retry-After is passed on", () => {
  const throttled = fails(new Throttled({ status: 429, retryAfterMs: 20_000 }))
  const { layer } = routerOn({ alpha: broken, beta: throttled })
  return Effect.gen(function* () {
    assert.deepInclude(reasonOf(yield* routed()), { _tag: "ProvidersFailed", retryAfterMs: 20_000 })
  }).pipe(Effect.provide(layer))
})

it.effect("clients' errors leave the circuit closed, however many there are", () => {
  const rejected = new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })
  const { heard, layer } = routerOn({ alpha: fails(rejected) }, 0)
  return Effect.gen(function* () {
    for (let request = 0; request < 10; request++) yield* routed()
    assert.strictEqual(heard.calls.length, 10)
  }).pipe(Effect.provide(layer))
})

it.effect("the statistics count answers, and a client's error as an answer", () => {
  const rejected = new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })
  const { layer } = routerOn({ alpha: [good, fails(rejected), broken, { delayMs: 70, ...good }] }, 0)
  return Effect.gen(function* () {
    for (let request = 0; request < 3; request++) yield* routed()
    yield* inTime(routed(), 70)
    const stats = (yield* ProviderStats).snapshot("alpha")
    assert.deepStrictEqual([stats.calls, stats.successRate], [4, 0.75])
    assert.deepStrictEqual(stats.wholeMs, { p50: 0, p99: 70 })
    assert.isNull(stats.firstTokenMs)
    assert.strictEqual(stats.throughputTps, 71.2, "five tokens in 70 ms")
  }).pipe(Effect.provide(layer))
})

it.effect("a request that a dialect cannot express falls back and does not count against the provider", () => {
  const unsupported = fails(new Unsupported({ param: "logit_bias", message: "no" }))
  const { heard, layer } = routerOn({ alpha: unsupported, beta: good }, 0)
  return Effect.gen(function* () {
    for (let request = 0; request < 6; request++) {
      const answered = yield* routed()
      assert.strictEqual(contentOf(answered), "Hello")
      assert.deepInclude(answered.request.log.record.attempts[0], { status: "error", errorType: "unsupported" })
    }
    assert.lengthOf(heard.calls, 12)
    const { snapshot } = yield* ProviderStats
    assert.deepInclude(snapshot("alpha"), { calls: 0, successRate: 1 })
    assert.deepInclude(snapshot("beta"), { calls: 6, successRate: 1 })
  }).pipe(Effect.provide(layer))
})

const streamOf = (options: PlanOptions = {}) =>
  Effect.gen(function* () {
    const router = yield* Router
    const request = yield* routedFor({ streamed: true, ...options })
    const { answer, candidate } = yield* router.stream(request)
    return { request, answer, provider: candidate.provider.slug }
  })

it.effect("a stream falls back until its first token, and passes on nothing of the failed one", () => {
  const role = { _tag: "Choices", choices: [{ index: 0, delta: { role: "assistant" }, finish_reason: null }] } as const
  const { heard, layer } = routerOn({
    alpha: { events: [role, new Cut({ detail: "reset" })] },
    beta: { events: [piece("one"), piece("two"), stop, ending()] }
  })
  return Effect.gen(function* () {
    const { answer, request, provider } = yield* streamOf()
    assert.strictEqual(provider, "beta")
    assert.deepStrictEqual(Array.from(yield* Stream.runCollect(answer.stream)), [
      piece("one"),
      piece("two"),
      stop,
      ending()
    ])
    assert.deepStrictEqual(heard.calls, ["alpha", "beta"])
    assert.deepStrictEqual(
      request.log.record.attempts.map(({ status }) => status),
      ["error", "ok"]
    )
  }).pipe(Effect.scoped, Effect.provide(layer))
})

it.effect("an empty stream is a failure", () => {
  const { layer } = routerOn({ alpha: { events: [] }, beta: { events: [piece("one"), stop, ending()] } })
  return Effect.gen(function* () {
    const { request, provider } = yield* streamOf()
    assert.strictEqual(provider, "beta")
    assert.deepInclude(request.log.record.attempts[0], { provider: "alpha", errorType: "malformed" })
  }).pipe(Effect.scoped, Effect.provide(layer))
})

it.effect("without a first token in time the call is aborted, and the next provider is asked", () => {
  const { heard, layer } = routerOn({
    alpha: { events: [180_000, ending()] },
    beta: { events: [piece("one"), ending()] }
  })
  return Effect.gen(function* () {
    const { request, provider } = yield* inTime(streamOf(), 120_000)
    assert.strictEqual(provider, "beta")
    assert.deepStrictEqual(heard.aborted, ["alpha"])
    assert.deepInclude(request.log.record.attempts[0], { status: "timeout", latencyMs: 120_000 })
  }).pipe(Effect.scoped, Effect.provide(layer))
})

it.effect.each<readonly [string, number, string, number]>([
  ["answers within", 479_000, "ok", 479_000],
  ["is ended after", 481_000, "timeout", 480_000]
])("the last provider %s what the ones before left of the request's total", ([, delayMs, status, latencyMs]) => {
  const { layer } = routerOn({
    alpha: { hangs: true },
    beta: { delayMs, events: [piece("one"), stop, ending()] }
  })
  return Effect.gen(function* () {
    const router = yield* Router
    const request = yield* routedFor({ streamed: true })
    yield* inTime(Effect.exit(router.stream(request)), 600_000)
    assert.deepStrictEqual(
      request.log.record.attempts.map((attempt) => [attempt.status, attempt.latencyMs]),
      [
        ["timeout", 120_000],
        [status, latencyMs]
      ]
    )
  }).pipe(Effect.scoped, Effect.provide(layer))
})

it.effect("a model's own limits replace its provider's", () => {
  const offer = { ...scriptedOffer("test/small"), timeouts: { firstTokenMs: 5_000 } }
  const layer = Router.layer({ retries: 1, continueStreams: true, hedgeAfterMs: null }).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        layerScripted([
          { slug: "alpha", config: { models: [offer] }, models: { "test/small": { hangs: true } } },
          { slug: "beta", models: { "test/small": { events: [piece("one"), stop, ending()] } } }
        ]),
        Circuits.layerMemory,
        ProviderStats.layer,
        ConversationMemory.layer
      )
    )
  )
  return Effect.gen(function* () {
    const { request, provider } = yield* inTime(streamOf(), 5_000)
    assert.strictEqual(provider, "beta")
    assert.deepInclude(request.log.record.attempts[0], { status: "timeout", latencyMs: 5_000 })
  }).pipe(Effect.scoped, Effect.provide(layer))
})

it.effect("a stream that goes silent fails after the idle limit, not before", () => {
  const slow = { events: [piece("one"), 119_999, piece("two"), 120_001, piece("three"), ending()] }
  const { layer } = routerOn({ alpha: slow })
  return Effect.gen(function* () {
    const { answer } = yield* streamOf()
    const got: Array<unknown> = []
    const fiber = yield* Effect.forkChild(
      Effect.flip(Stream.runForEach(answer.stream, (event) => Effect.sync(() => void got.push(event)))),
      { startImmediately: true }
    )
    yield* TestClock.adjust(119_999)
    yield* TestClock.adjust(119_999)
    assert.deepStrictEqual(got, [piece("one"), piece("two")])
    yield* TestClock.adjust(1)
    const error = yield* Fiber.join(fiber)
    assert.deepInclude(error.reason, { _tag: "TimedOut", phase: "idle" })
  }).pipe(Effect.scoped, Effect.provide(layer))
})

it.effect("closing the request's scope aborts the upstream call", () => {
  const { heard, layer } = routerOn({ alpha: { events: [piece("one"), 60_000, ending()] } })
  return Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Scope.provide(streamOf(), scope)
    assert.deepStrictEqual(heard.aborted, [])
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual(heard.aborted, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("the reservation limits the output that is asked for", () => {
  const { heard, layer } = routerOn({ alpha: good })
  return Effect.gen(function* () {
    const asked = (request: Parameters<typeof requestWith>[0], affordableTokens: number | null) =>
      Effect.map(routed({ request: requestWith(request) }, affordableTokens), () => {
        const last = heard.requests.at(-1)
        return [last?.["max_tokens"], last?.["max_completion_tokens"]]
      })
    assert.deepStrictEqual(yield* asked({}, null), [undefined, undefined])
    assert.deepStrictEqual(yield* asked({}, 50), [50, undefined])
    assert.deepStrictEqual(yield* asked({ max_tokens: 100 }, 50), [50, undefined])
    assert.deepStrictEqual(yield* asked({ max_tokens: 20 }, 50), [20, undefined])
    assert.deepStrictEqual(yield* asked({ max_completion_tokens: 100 }, 50), [50, undefined])
    assert.deepStrictEqual(yield* asked({ max_tokens: 100, max_completion_tokens: 20 }, 50), [100, 20])
    assert.deepStrictEqual(yield* asked({ max_tokens: 400_000, max_completion_tokens: 60 }, 50), [50, undefined])
    assert.deepStrictEqual(yield* asked({}, 16_384), [undefined, undefined], "the model's own limit is no less")
  }).pipe(Effect.provide(layer))
})

it.effect("a request without candidates fails with its reason, without a call", () => {
  const { heard, layer } = routerOn({ alpha: good })
  return Effect.gen(function* () {
    const unroutable = gatewayError(new ModelNotFound({ model: "no/such", ambiguous: [], nearest: null }))
    const answered = yield* routed({ unroutable })
    assert.deepInclude(reasonOf(answered), { _tag: "ModelNotFound", model: "no/such" })
    assert.deepStrictEqual([heard.calls, answered.request.log.record.attempts], [[], []])
  }).pipe(Effect.provide(layer))
})

it.effect("embeddings fall back and time out like the rest", () => {
  const vectors = { vectors: [[1, 2]], usage: null }
  const { heard, layer } = routerOn({ alpha: { hangs: true }, beta: { vectors } })
  return Effect.gen(function* () {
    const router = yield* Router
    const { plan, ...given } = yield* routedFor()
    const request = { ...given, plan: { ...plan, request: { model: "test/small", input: "x" } } }
    const answered = yield* inTime(router.embed(request), 600_000)
    assert.deepStrictEqual(answered.answer, vectors)
    assert.isTrue(answered.fallbackUsed)
    assert.deepStrictEqual(heard.aborted, ["alpha"])
  }).pipe(Effect.provide(layer))
})
