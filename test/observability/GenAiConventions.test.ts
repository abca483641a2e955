/**
 * The exported spans, held to OpenTelemetry's conventions for generative AI: one span for each call
 * to a provider has the call's tokens and messages, and no other span has attributes of `gen_ai.*`.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Cut, ServerFault } from "../../src/providers/Provider.ts"
import { defaultSettings } from "../../src/Settings.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { ask, delta, end, finish, helloReply } from "../contract/wire.ts"
import { type CollectedSpan, startCollector } from "../support/otlp/Collector.ts"
import { tracing } from "../support/otlp/tracing.ts"
import { TestApp } from "../support/TestApp.ts"

const usage = {
  promptTokens: 40,
  completionTokens: 9,
  cachedTokens: 16,
  reasoningTokens: 4,
  rare: { cache_write: 8 }
} as const

const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } }

const models = (...names: ReadonlyArray<string>) => ({
  models: names.map((name) => ({ ...scriptedOffer(`test/${name}`), prefill: true }))
})

const scripts = [
  {
    slug: "alpha",
    config: models("small", "calling", "broken", "failing"),
    models: {
      "test/small": {
        reply: { ...helloReply, usage },
        events: [delta({ content: "Hi" }), finish(), { ...end, usage }]
      },
      "test/calling": {
        reply: {
          ...helloReply,
          choices: [
            {
              index: 0,
              message: { role: "assistant" as const, content: null, reasoning: "Which city?", tool_calls: [call] },
              finish_reason: "tool_calls"
            }
          ],
          usage
        }
      },
      "test/broken": { events: [delta({ content: "one two three" }), new Cut({ detail: "socket" })] },
      "test/failing": { failure: new ServerFault({ status: 500, retryAfterMs: null }) }
    }
  },
  {
    slug: "bedrock",
    config: models("broken", "failing"),
    models: {
      "test/broken": { events: [delta({ content: " four" }), finish(), { ...end, usage }] },
      "test/failing": { reply: { ...helloReply, usage } }
    }
  }
]

/** What each attribute holds. A call's span has no other attribute of `gen_ai.*`. */
const isCount = (value: unknown): boolean => typeof value === "number" && Number.isInteger(value) && value >= 0
const isText = (value: unknown): boolean => typeof value === "string" && value !== ""
const conventions: Readonly<Record<string, (value: unknown) => boolean>> = {
  "gen_ai.operation.name": (value) => value === "chat" || value === "embeddings",
  "gen_ai.provider.name": (value) => value === "alpha" || value === "aws.bedrock",
  "gen_ai.conversation.id": isText,
  "gen_ai.request.model": isText,
  "gen_ai.request.stream": (value) => typeof value === "boolean",
  "gen_ai.request.max_tokens": isCount,
  "gen_ai.request.choice.count": (value) => isCount(value) && value !== 1,
  "gen_ai.request.temperature": (value) => typeof value === "number",
  "gen_ai.request.top_p": (value) => typeof value === "number",
  "gen_ai.request.seed": isCount,
  "gen_ai.response.id": isText,
  "gen_ai.response.model": isText,
  "gen_ai.response.finish_reasons": (value) => Array.isArray(value) && value.every(isText),
  "gen_ai.response.time_to_first_chunk": (value) => typeof value === "number",
  "gen_ai.usage.input_tokens": isCount,
  "gen_ai.usage.output_tokens": isCount,
  "gen_ai.usage.cache_read.input_tokens": isCount,
  "gen_ai.usage.cache_creation.input_tokens": isCount,
  "gen_ai.usage.reasoning.output_tokens": isCount,
  "gen_ai.input.messages": isText,
  "gen_ai.output.messages": isText
}

const genAi = ({ attributes }: CollectedSpan) =>
  Object.entries(attributes).filter(([name]) => name.startsWith("gen_ai."))

const checked = (spans: ReadonlyArray<CollectedSpan>): ReadonlyArray<CollectedSpan> => {
  for (const span of spans) {
    if (span.kind !== "client") {
      assert.deepStrictEqual(genAi(span), [], span.name)
      continue
    }
    for (const [name, value] of genAi(span)) {
      assert.isTrue(conventions[name]?.(value) === true, `${name}: ${String(value)}`)
    }
    assert.strictEqual(
      span.name,
      `${String(span.attributes["gen_ai.operation.name"])} ${String(span.attributes["gen_ai.request.model"])}`
    )
  }
  return spans.filter(({ kind }) => kind === "client")
}

/** The spans of what `use` asks for. */
const exported = <A, E>(use: Effect.Effect<A, E, TestApp>, capturesContent = false) =>
  Effect.gen(function* () {
    const collector = yield* startCollector()
    const settings = { routing: { ...defaultSettings.routing, retries: 0, continueStreams: true } }
    const app = TestApp.layer({ providers: scripts, settings }).pipe(
      Layer.provideMerge(tracing(collector, { capturesContent }))
    )
    yield* Effect.scoped(Effect.provide(use, app))
    return collector.spans()
  })

const tokens = (span: CollectedSpan | undefined) => [
  span?.attributes["gen_ai.usage.input_tokens"],
  span?.attributes["gen_ai.usage.output_tokens"]
]

for (const stream of [false, true]) {
  it.effect(`a ${stream ? "streamed" : "whole"} answer: its call has all that the conventions name, once`, () =>
    Effect.gen(function* () {
      const spans = yield* exported(
        Effect.gen(function* () {
          const { chat, issueKey } = yield* TestApp
          const { secret: key } = yield* issueKey()
          const sampled = { temperature: 0.5, top_p: 0.9, seed: 7, max_tokens: 100, session_id: "session-1" }
          yield* chat(ask("Hi", { stream, ...sampled }), { key })
        })
      )
      const calls = checked(spans)
      assert.lengthOf(calls, 1)
      assert.deepInclude(calls[0]?.attributes, {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "session-1",
        "gen_ai.request.model": "small",
        "gen_ai.request.stream": stream,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.seed": 7,
        "gen_ai.response.model": "small",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 40,
        "gen_ai.usage.output_tokens": 9,
        "gen_ai.usage.cache_read.input_tokens": 16,
        "gen_ai.usage.cache_creation.input_tokens": 8,
        "gen_ai.usage.reasoning.output_tokens": 4
      })
      assert.property(calls[0]?.attributes, "gen_ai.response.id")
    })
  )
}

it.effect("a fallback and a continued stream: each call has its own tokens, and they add up", () =>
  Effect.gen(function* () {
    const spans = yield* exported(
      Effect.gen(function* () {
        const { chat, issueKey } = yield* TestApp
        const { secret: key } = yield* issueKey()
        const provider = { order: ["alpha"] }
        yield* chat(ask("Hi", { model: "test/failing", provider }), { key })
        yield* chat(ask("Count", { model: "test/broken", provider, stream: true }), { key })
      })
    )
    const calls = checked(spans)
    const of = (model: string) =>
      calls
        .filter(({ attributes }) => attributes["gen_ai.request.model"] === model)
        .toSorted((a, b) => Number(a.attributes["tollgate.attempt"]) - Number(b.attributes["tollgate.attempt"]))
    const [failed, answered] = of("failing")
    assert.deepStrictEqual(
      [tokens(failed), tokens(answered)],
      [
        [undefined, undefined],
        [40, 9]
      ]
    )
    assert.strictEqual(answered?.attributes["gen_ai.provider.name"], "aws.bedrock")
    const [broken, continued] = of("broken")
    assert.strictEqual(broken?.attributes["error.type"], "stream_cut")
    const server = spans.find(
      ({ attributes, kind }) => kind === "server" && attributes["tollgate.model"] === "test/broken"
    )
    const [input, output] = [0, 1].map((at) => Number(tokens(broken)[at]) + Number(tokens(continued)[at]))
    assert.isAbove(Number(tokens(broken)[1]), 0)
    assert.deepStrictEqual(
      [input, output],
      [server?.attributes["tollgate.tokens.input"], server?.attributes["tollgate.tokens.output"]]
    )
  })
)

it.effect("a cache hit is not an inference", () =>
  Effect.gen(function* () {
    const spans = yield* exported(
      Effect.gen(function* () {
        const { chat, issueKey } = yield* TestApp
        const { secret: key } = yield* issueKey()
        yield* chat(ask("Hi"), { key })
        yield* chat(ask("Hi"), { key })
        yield* chat(ask("Hi", { stream: true }), { key })
      }),
      true
    )
    assert.lengthOf(checked(spans), 1)
    assert.deepStrictEqual(
      spans
        .map(({ attributes }) => attributes["tollgate.cache"])
        .filter(isText)
        .map(String)
        .toSorted(),
      ["hit", "hit", "miss"]
    )
  })
)

it.effect("messages have parts of the conventions' types, and those of a reply a finish reason", () =>
  Effect.gen(function* () {
    const spans = yield* exported(
      Effect.gen(function* () {
        const { chat, issueKey } = yield* TestApp
        const { secret: key } = yield* issueKey()
        const messages = [
          { role: "system", content: "Be short." },
          { role: "user", content: [{ type: "text", text: "Weather?" }] },
          { role: "assistant", content: null, tool_calls: [call] },
          { role: "tool", tool_call_id: "call_1", content: "Rain for ann@example.com" }
        ]
        yield* chat({ model: "test/calling", messages }, { key })
      }),
      true
    )
    const [span] = checked(spans)
    const read = (name: string): unknown => JSON.parse(String(span?.attributes[name]))
    const asked = { type: "tool_call", id: "call_1", name: "weather", arguments: { city: "Bern" } }
    assert.deepStrictEqual(read("gen_ai.input.messages"), [
      { role: "system", parts: [{ type: "text", content: "Be short." }] },
      { role: "user", parts: [{ type: "text", content: "Weather?" }] },
      { role: "assistant", parts: [asked] },
      { role: "tool", parts: [{ type: "tool_call_response", id: "call_1", response: "Rain for [EMAIL_1]" }] }
    ])
    assert.deepStrictEqual(read("gen_ai.output.messages"), [
      { role: "assistant", parts: [{ type: "reasoning", content: "Which city?" }, asked], finish_reason: "tool_call" }
    ])
  })
)

it.effect("probes and scrapes leave no span; an id that could hold data is given as a digest", () =>
  Effect.gen(function* () {
    const spans = yield* exported(
      Effect.gen(function* () {
        const { adminKey, chat, issueKey, send } = yield* TestApp
        const { secret: key } = yield* issueKey()
        for (const path of ["/health", "/health/live", "/health/ready", "/metrics"]) {
          yield* send(path, { headers: { "x-admin-key": adminKey } })
        }
        yield* chat(ask("Hi"), { key, headers: { "x-session-id": "ann@example.com" } })
      })
    )
    assert.deepStrictEqual(
      spans.filter(({ attributes }) => /health|metrics/.test(String(attributes["http.route"]))),
      []
    )
    assert.match(String(checked(spans)[0]?.attributes["gen_ai.conversation.id"]), /^[0-9a-f]{32}$/)
  })
)
