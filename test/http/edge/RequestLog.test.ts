import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger, type LogLevel, References } from "effect"
import { open } from "../../contract/client.ts"
import { until } from "../../contract/clock.ts"
import { ask, delta, end, finish, helloReply } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"
import { triedOnce } from "../../support/testSettings.ts"
import { broken } from "../../gateway/scripts.ts"

interface Line {
  readonly message: unknown
  readonly level: string
  readonly annotations: Readonly<Record<string, unknown>>
}

const app = (lines: Array<Line>, minimum: LogLevel.LogLevel = "Info") =>
  TestApp.layer({
    providers: [
      {
        slug: "alpha",
        models: {
          "test/small": { reply: helloReply, events: [delta({ content: "Hi" }), finish("because"), end] },
          "test/broken": broken,
          "test/silent": { hangs: true }
        },
        onCall: () => void lines.push({ message: "called", level: "", annotations: {} })
      }
    ],
    settings: {
      routing: triedOnce
    }
  }).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Logger.layer([Logger.map(Logger.formatStructured, (line) => void lines.push(line))]),
        Layer.succeed(References.MinimumLogLevel, minimum)
      )
    )
  )

const requestsOf = (lines: ReadonlyArray<Line>) => lines.filter(({ message }) => message === "request")

it.effect("logs which provider answered, the cost and the latency", () => {
  const lines: Array<Line> = []
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const key = yield* issueKey()
    const { headers } = yield* chat(ask("Hi"), { key: key.secret, headers: { "x-request-id": "asked-by-me" } })
    yield* chat(ask("Hi", { stream: true }), { key: key.secret })
    yield* chat(ask("Another", { stream: true }), { key: key.secret })
    const [first, second, third] = requestsOf(lines)
    assert.strictEqual(first?.level, "INFO")
    assert.deepStrictEqual(first?.annotations, {
      request_id: "asked-by-me",
      method: "POST",
      route: "/v1/chat/completions",
      status: 200,
      latency_ms: 0,
      cache: "miss",
      generation_id: headers.get("x-generation-id"),
      key_id: key.id,
      provider: "alpha",
      model: "test/small",
      tier: "enterprise",
      streamed: false,
      attempts: 1,
      fallback: false,
      time_to_first_token_ms: null,
      prompt_tokens: 3,
      completion_tokens: 1,
      cost_usd: 0.000005,
      finish_reason: "stop",
      cancelled: false
    })
    assert.deepInclude(second?.annotations, { cache: "hit", streamed: true, cost_usd: 0, attempts: 0 })
    // A provider's own finish reason is not logged.
    assert.notProperty(third?.annotations, "finish_reason")
    assert.deepInclude(third?.annotations, { cache: "miss", streamed: true, time_to_first_token_ms: 0 })
  }).pipe(Effect.provide(app(lines)))
})

it.effect("logs the policy and the error of a refusal, and warns of internal errors", () => {
  const lines: Array<Line> = []
  return Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    yield* chat(ask("Hi"), { key: (yield* issueKey({ monthlyBudgetNano: 0 })).secret })
    yield* chat(ask("Hi", { model: "confidential/model" }), { key })
    yield* chat(ask("Hi", { model: "test/broken" }), { key })
    yield* send("/confidential", { method: "PUT" })
    const [budget, unknown, broken, nowhere] = requestsOf(lines)
    assert.deepInclude(budget?.annotations, { status: 402, error_type: "budget_exceeded", rejected_by: "budget" })
    assert.deepInclude(unknown?.annotations, { status: 404, error_type: "model_not_found" })
    assert.notProperty(unknown?.annotations, "model")
    assert.strictEqual(broken?.level, "WARN")
    assert.deepInclude(broken?.annotations, { status: 502, error_type: "provider_error", model: "test/broken" })
    assert.deepInclude(nowhere?.annotations, { status: 404, route: "unmatched", method: "PUT" })
    assert.notInclude(JSON.stringify(lines), "confidential")
  }).pipe(Effect.provide(app(lines)))
})

it.effect("names the route of a client that left before its answer", () => {
  const lines: Array<Line> = []
  return Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const client = open(`${url}/v1/chat/completions?a=b`, (yield* issueKey()).secret, {
      ...ask("Hi", { model: "test/silent" }),
      stream: true
    })
    yield* until(() => lines.some(({ message }) => message === "called"))
    client.hangUp()
    yield* until(() => requestsOf(lines).length === 1)
    assert.deepInclude(requestsOf(lines)[0]?.annotations, {
      status: 499,
      method: "POST",
      route: "/v1/chat/completions"
    })
  }).pipe(Effect.provide(app(lines)))
})

it.effect("logs health checks, and lines below the set level, not at all", () => {
  const [heard, unheard]: [Array<Line>, Array<Line>] = [[], []]
  const ask = Effect.flatMap(TestApp, ({ send }) => Effect.andThen(send("/health/live"), send("/v1/models")))
  return Effect.gen(function* () {
    yield* Effect.provide(ask, app(heard))
    yield* Effect.provide(ask, app(unheard, "Warn"))
    assert.deepStrictEqual(
      requestsOf(heard).map(({ annotations }) => [annotations["route"], annotations["status"]]),
      [["/v1/models", 401]]
    )
    assert.deepStrictEqual(unheard, [])
  })
})
