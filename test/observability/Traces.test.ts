/** Whole traces, as a collector receives them over a socket. */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Tracer } from "effect"
import { HttpMiddleware } from "effect/http"
import { makeTracing } from "../../src/observability/Traces.ts"
import { Cut, ServerFault } from "../../src/providers/Provider.ts"
import { defaultSettings } from "../../src/Settings.ts"
import { ask, delta, end, finish, helloReply } from "../contract/wire.ts"
import { type CollectedSpan, startCollector } from "../support/otlp/Collector.ts"
import { type Sampling, target, tracing } from "../support/otlp/tracing.ts"
import { TestApp } from "../support/TestApp.ts"

const scripts = [
  {
    slug: "alpha",
    models: {
      "test/small": { failure: new ServerFault({ status: 500, retryAfterMs: null }) },
      "test/cut": { events: [delta({ content: "Hel" }), new Cut({ detail: "socket" })] }
    }
  },
  {
    slug: "beta",
    models: { "test/small": { reply: helloReply, events: [delta({ content: "Hi" }), finish(), end] } }
  }
]

/** Runs `use` against an application with tracing. Its end sends the remaining spans. */
const traced = <A, E>(use: Effect.Effect<A, E, TestApp>, options?: Sampling) =>
  Effect.gen(function* () {
    const collector = yield* startCollector()
    yield* Effect.scoped(
      Effect.provide(
        use,
        TestApp.layer({
          providers: scripts,
          settings: {
            routing: { ...defaultSettings.routing, retries: 0 }
          }
        }).pipe(Layer.provideMerge(tracing(collector, options)))
      )
    )
    return collector
  })

const named = (spans: ReadonlyArray<CollectedSpan>, name: string): CollectedSpan => {
  const found = spans.filter((span) => span.name === name)
  assert.lengthOf(found, 1, `${name} among ${spans.map((span) => span.name).join(", ")}`)
  return found[0] as CollectedSpan
}

const server = "POST /v1/chat/completions"
const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

it.effect("of a fallback: a span for each stage and each call, under the client's own", () =>
  Effect.gen(function* () {
    const collector = yield* traced(
      Effect.gen(function* () {
        const { chat, issueKey } = yield* TestApp
        const { secret: key } = yield* issueKey()
        yield* chat(ask("Hi", { provider: { order: ["alpha"] } }), { key, headers: { traceparent: parent } })
      })
    )
    const spans = collector.spans()
    assert.deepStrictEqual(
      spans.map(({ name }) => name).toSorted(),
      [
        server,
        "chat small",
        "chat small",
        "tollgate.cache",
        "tollgate.ledger.settle",
        "tollgate.policy.budget",
        "tollgate.policy.rate_limit",
        "tollgate.policy.whitelist",
        "tollgate.route"
      ].toSorted()
    )
    const root = named(spans, server)
    assert.deepStrictEqual(
      [root.traceId, root.parentId, root.kind, root.status, root.flags],
      ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "server", "ok", 0x301]
    )
    for (const span of spans) if (span !== root) assert.strictEqual(span.flags, 0x101)
    for (const span of spans) assert.strictEqual(span.traceId, root.traceId)
    const route = named(spans, "tollgate.route")
    const calls = spans.filter(({ kind }) => kind === "client")
    for (const call of calls) assert.strictEqual(call.parentId, route.spanId)
    for (const span of spans.filter(({ kind }) => kind === "internal")) assert.strictEqual(span.parentId, root.spanId)
    const [failed, answered] = calls.toSorted(
      (a, b) => Number(a.attributes["tollgate.attempt"]) - Number(b.attributes["tollgate.attempt"])
    )
    assert.deepInclude(failed?.attributes, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "alpha",
      "gen_ai.request.model": "small",
      "tollgate.attempt.status": "error",
      "http.response.status_code": 500,
      "error.type": "server_error"
    })
    assert.deepStrictEqual([failed?.status, failed?.message], ["error", "server_error"])
    assert.deepStrictEqual(failed?.events, [
      { name: "gen_ai.client.operation.exception", attributes: { "exception.type": "server_error" } }
    ])
    assert.deepInclude(answered?.attributes, {
      "gen_ai.provider.name": "beta",
      "tollgate.attempt.status": "ok",
      "gen_ai.response.model": "small",
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 1
    })
    assert.strictEqual(answered?.status, "ok")
    assert.deepInclude(root.attributes, {
      "http.request.method": "POST",
      "http.route": "/v1/chat/completions",
      "http.response.status_code": 200,
      "tollgate.operation": "chat",
      "tollgate.provider": "beta",
      "tollgate.model": "test/small",
      "tollgate.tokens.input": 3,
      "tollgate.tokens.output": 1,
      "tollgate.cache": "miss",
      "tollgate.fallback": true,
      "tollgate.attempts": 2,
      "tollgate.tier": "enterprise",
      "tollgate.streamed": false,
      "tollgate.cost.usd": 0.000005
    })
    assert.match(String(root.attributes["tollgate.generation.id"]), /^gen_/)
    assert.deepInclude(collector.resources()[0], {
      "service.name": "tollgate",
      "service.instance.id": "one",
      "deployment.environment.name": "test"
    })
  })
)

it.effect("of a cache hit: nobody is called", () =>
  Effect.gen(function* () {
    const collector = yield* traced(
      Effect.gen(function* () {
        const { chat, issueKey } = yield* TestApp
        const { secret: key } = yield* issueKey()
        yield* chat(ask("Hi"), { key })
        yield* chat(ask("Hi", { stream: true }), { key, headers: { traceparent: parent } })
      })
    )
    const hit = collector.spans().filter(({ traceId }) => traceId === "0af7651916cd43dd8448eb211c80319c")
    assert.deepStrictEqual(
      hit.filter(({ kind, name }) => kind === "client" || name === "tollgate.route"),
      []
    )
    assert.deepInclude(named(hit, "tollgate.cache").attributes, { "tollgate.cache.result": "hit" })
    assert.deepInclude(named(hit, server).attributes, {
      "tollgate.cache": "hit",
      "tollgate.attempts": 0,
      "tollgate.cost.usd": 0,
      "tollgate.cost.saved.usd": 0.000005
    })
  })
)

it.effect("of a hit that is written at once: a span for each stage of any other", () =>
  Effect.gen(function* () {
    const collector = yield* traced(
      Effect.gen(function* () {
        const { chat, issueKey } = yield* TestApp
        const { secret: key } = yield* issueKey({ monthlyBudgetNano: 1_000_000_000 })
        yield* chat(ask("Hi"), { key })
        yield* chat(ask("Hi"), { key, headers: { traceparent: parent } })
      })
    )
    const hit = collector.spans().filter(({ traceId }) => traceId === "0af7651916cd43dd8448eb211c80319c")
    assert.deepStrictEqual(
      hit.map(({ name, status }) => `${name} ${status}`).toSorted(),
      [
        `${server} ok`,
        "tollgate.cache ok",
        "tollgate.ledger.settle ok",
        "tollgate.policy.budget ok",
        "tollgate.policy.rate_limit ok",
        "tollgate.policy.whitelist ok"
      ].toSorted()
    )
    assert.deepInclude(named(hit, "tollgate.cache").attributes, { "tollgate.cache.result": "hit" })
    assert.deepInclude(named(hit, server).attributes, { "tollgate.cache": "hit", "tollgate.usage.source": "cache" })
  })
)

it.effect("of a stream that is cut: the call and the request are errors, with all that came", () =>
  Effect.gen(function* () {
    const collector = yield* traced(
      Effect.gen(function* () {
        const { chat, issueKey } = yield* TestApp
        const { secret: key } = yield* issueKey()
        yield* chat(ask("Hi", { model: "test/cut", stream: true }), { key })
      })
    )
    const spans = collector.spans()
    const call = named(spans, "chat cut")
    assert.deepStrictEqual([call.status, call.message], ["error", "stream_cut"])
    assert.deepInclude(call.attributes, { "error.type": "stream_cut", "gen_ai.request.stream": true })
    assert.property(call.attributes, "gen_ai.response.time_to_first_chunk")
    assert.include(
      call.events.map(({ name }) => name),
      "tollgate.first_token"
    )
    const root = named(spans, server)
    assert.deepStrictEqual([root.status, root.message], ["error", "provider_error"])
    assert.deepInclude(root.attributes, { "http.response.status_code": 200, "error.type": "provider_error" })
    assert.isAbove(Number(root.attributes["tollgate.tokens.output"]), 0)
    assert.strictEqual(call.attributes["gen_ai.usage.output_tokens"], root.attributes["tollgate.tokens.output"])
  })
)

it.effect("of a refusal: the policy that refused, and no error of ours", () =>
  Effect.gen(function* () {
    const collector = yield* traced(
      Effect.gen(function* () {
        const { chat, issueKey } = yield* TestApp
        const { secret: key } = yield* issueKey({ monthlyBudgetNano: 0 })
        yield* chat(ask("confidential"), { key })
      })
    )
    const spans = collector.spans()
    const budget = named(spans, "tollgate.policy.budget")
    assert.deepStrictEqual([budget.status, budget.attributes["error.type"]], ["error", "budget_exceeded"])
    assert.isEmpty(spans.filter(({ name }) => name === "tollgate.route"))
    const root = named(spans, server)
    assert.strictEqual(root.status, "ok")
    assert.deepInclude(root.attributes, {
      "http.response.status_code": 402,
      "tollgate.rejected_by": "budget",
      "error.type": "budget_exceeded"
    })
    assert.notInclude(collector.raw(), "confidential")
  })
)

it.effect("what is not sampled is not recorded; spans beside a request's own lose what errors said", () =>
  Effect.gen(function* () {
    const requests = Effect.gen(function* () {
      const { adminKey, chat, issueKey, send } = yield* TestApp
      const { secret: key } = yield* issueKey()
      yield* chat(ask("Hi"), { key })
      yield* chat(ask("Again"), { key, headers: { traceparent: parent.replace(/01$/, "00") } })
      yield* chat(ask("Recorded"), { key, headers: { traceparent: parent } })
      yield* send("/v1/keys/key_confidential", { headers: { "x-admin-key": adminKey, traceparent: parent } })
    })
    const parents = yield* traced(requests, { sampler: "parentbased_traceidratio", ratio: 0 })
    assert.deepStrictEqual(new Set(parents.spans().map(({ traceId }) => traceId)), new Set([parent.slice(3, 35)]))
    const get = named(parents.spans(), "GET /v1/keys/:key_id")
    assert.deepInclude(get.attributes, { "http.response.status_code": 404, "error.type": "not_found" })
    const inner = named(parents.spans(), "ApiKeys.get")
    assert.strictEqual(inner.parentId, get.spanId)
    assert.strictEqual(inner.status, "error")
    assert.notInclude(parents.raw(), "confidential")
  })
)

it.effect("of contents, where a setting asks for them: masked, and never otherwise", () =>
  Effect.gen(function* () {
    const requests = Effect.gen(function* () {
      const { chat, issueKey } = yield* TestApp
      const { secret: key } = yield* issueKey()
      yield* chat(ask("Write to ann@example.com"), { key })
      yield* chat(ask("Write to bob@example.com", { stream: true }), { key })
    })
    const silent = yield* traced(requests)
    assert.notInclude(silent.raw(), "Write to")
    const telling = yield* traced(requests, { capturesContent: true })
    const said = telling
      .spans()
      .filter(({ attributes }) => attributes["gen_ai.provider.name"] === "beta")
      .map(({ attributes }) =>
        ["gen_ai.input.messages", "gen_ai.output.messages"].map((name) => JSON.parse(String(attributes[name])))
      )
    const text = (role: string, content: string) => ({ role, parts: [{ type: "text", content }] })
    assert.deepStrictEqual(said, [
      [[text("user", "Write to [EMAIL_1]")], [{ ...text("assistant", "Hello"), finish_reason: "stop" }]],
      [[text("user", "Write to [EMAIL_1]")], [{ ...text("assistant", "Hi"), finish_reason: "stop" }]]
    ])
    assert.notInclude(telling.raw(), "@example.com")
  })
)

it.effect("a content that is cut off leaves no part of a value, and a prompt that the guard masked stays masked", () =>
  Effect.gen(function* () {
    const long = `${"word ".repeat(13_106)}ann@example.com`
    assert.isBelow(long.indexOf("ann@"), 65_536)
    assert.isAbove(long.length, 65_536)
    const requests = Effect.gen(function* () {
      const { chat, issueKey } = yield* TestApp
      const { secret: key } = yield* issueKey({ privacy: "mask" })
      const { secret: other } = yield* issueKey()
      yield* chat(ask(long), { key: other })
      yield* chat(ask("Write to ann@example.com"), { key })
    })
    const telling = yield* traced(requests, { capturesContent: true })
    assert.notInclude(telling.raw(), "ann@")
    assert.include(telling.raw(), "word word")
    assert.include(telling.raw(), "Write to [EMAIL_1]")
  })
)

it.effect("off, nothing makes a span: neither a request nor what it calls", () => {
  let spans = 0
  const counting = Tracer.make({
    span: (options) => {
      spans++
      return new Tracer.NativeSpan(options)
    }
  })
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const afterIssue = spans
    assert.isAbove(afterIssue, 0)
    yield* chat(ask("Hi"), { key })
    yield* chat(ask("Hello", { stream: true }), { key, headers: { traceparent: parent } })
    assert.strictEqual(spans, afterIssue)
  }).pipe(
    Effect.provide(
      TestApp.layer({ providers: scripts }).pipe(
        Layer.provideMerge(
          Layer.mergeAll(
            Layer.succeed(Tracer.Tracer, counting),
            Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)
          )
        )
      )
    )
  )
})

it.effect("a collector that refuses is reported once, and costs no request", () =>
  Effect.gen(function* () {
    const collector = yield* startCollector(400)
    const said: Array<unknown> = []
    const listening = Logger.layer([Logger.make(({ message }) => void said.push(message))])
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { tracing } = yield* makeTracing(defaultSettings.telemetry, "one", {
          ...target(collector.url),
          sampler: "always_on",
          ratio: 1,
          delayMs: 1,
          queueSize: 10,
          batchSize: 1,
          capturesContent: false
        })
        for (const name of ["first", "second"]) {
          const begun = tracing.begin({
            traceparent: undefined,
            tracestate: undefined,
            name: () => name,
            startedAtNanos: 0n
          })
          assert.strictEqual(begun?._tag, "Sampled")
          if (begun?._tag === "Sampled") begun.span.end(1n, Exit.void)
        }
        yield* collector.until(() => collector.spans().length === 2)
      })
    ).pipe(Effect.provide(listening))
    assert.deepStrictEqual(said, [["the collector does not accept spans; spans are lost until it does"]])
  })
)
