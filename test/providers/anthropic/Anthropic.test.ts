import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeAnthropic } from "../../../src/providers/anthropic/Anthropic.ts"
import {
  CredentialsRefused,
  Malformed,
  type ProviderReason,
  Rejected,
  ServerFault,
  Throttled,
  TimedOut,
  Unsupported
} from "../../../src/providers/Provider.ts"
import { Transport } from "../../../src/providers/transport/Transport.ts"
import { startAimock } from "../../support/aimock.ts"
import { startUpstream } from "../../support/upstream/Upstream.ts"
import { config, fixture, offer, replay, type Replay } from "../replayedTransport.ts"

const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: false }
const json = (value: unknown, rest: Partial<Replay> = {}): Replay => ({
  chunks: [Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))],
  type: "application/json",
  ...rest
})
const chat = (given: Replay, sent: ChatRequest = request) =>
  makeAnthropic(config(), replay(given)).chat({ request: sent, offer })
const reasonOf = (given: Replay) => Effect.map(Effect.flip(chat(given)), ({ reason }) => reason)
const message = (content: unknown, stop_reason: string | null, rest: object = {}) =>
  json({
    type: "message",
    role: "assistant",
    content,
    stop_reason,
    usage: { input_tokens: 1, output_tokens: 2 },
    ...rest
  })
const said = (text: string) => [{ type: "text", text }]

describe("Anthropic replies", () => {
  it.effect("read text and usage, with the cache's tokens among the prompt's", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* chat(json(fixture("anthropic-message.json"))), {
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "Hello! How can I help you today?" },
            finish_reason: "stop"
          }
        ],
        usage: { promptTokens: 1960, completionTokens: 10, cachedTokens: 1760, rare: { cache_write: 188 } },
        systemFingerprint: null
      })
    })
  )

  it.effect("read thoughts and parallel tool calls", () =>
    Effect.gen(function* () {
      const call = (id: string, location: string) => ({
        id,
        type: "function",
        function: { name: "get_weather", arguments: JSON.stringify({ location }) }
      })
      const { choices } = yield* chat(json(fixture("anthropic-message-tools.json")))
      assert.deepStrictEqual(choices, [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "I'll check both.",
            tool_calls: [call("toolu_01A", "Paris"), call("toolu_01B", "Bogotá")],
            reasoning: "Two cities.",
            reasoning_details: [
              {
                type: "reasoning.text",
                text: "Two cities.",
                signature: "EqQBCgIYAhIM",
                format: "unknown",
                provider: "alpha",
                index: 0
              }
            ]
          },
          finish_reason: "tool_calls"
        }
      ])
    })
  )

  it.effect("read the sources of each text, with the part of the content that they support", () =>
    Effect.gen(function* () {
      const page = { type: "page_location", cited_text: "2+2", document_index: 0, start_page_number: 1 }
      const site = { type: "search_result_location", cited_text: "4", source: "https://example.test/a", title: "A" }
      const { choices } = yield* chat(
        message([...said("So: "), { type: "text", text: "東京", citations: [page, site] }, ...said(".")], "end_turn")
      )
      const part = { start_index: 4, end_index: 6 }
      assert.deepStrictEqual(choices[0]?.message, {
        role: "assistant",
        content: "So: 東京.",
        citations: [
          { ...page, ...part },
          { ...site, ...part }
        ],
        annotations: [{ type: "url_citation", url_citation: { ...part, url: "https://example.test/a", title: "A" } }]
      })
    })
  )

  it.effect("call tools beside an empty text and an end of turn", () =>
    Effect.gen(function* () {
      const use = { type: "tool_use", id: "t", name: "f", input: {} }
      const { choices } = yield* chat(message([...said(""), use], "end_turn"))
      assert.isNull(choices[0]?.message.content)
      assert.strictEqual(choices[0]?.finish_reason, "tool_calls")
    })
  )

  it.effect("read an answer that came by our tool as the content", () =>
    Effect.gen(function* () {
      const use = { type: "tool_use", id: "t", name: "respond_with_json", input: { city: "Paris" } }
      const format: ChatRequest = { ...request, response_format: { type: "json_object" } }
      const { choices } = yield* chat(message([use], "tool_use"), format)
      assert.deepStrictEqual(choices[0]?.message, { role: "assistant", content: '{"city":"Paris"}' })
      assert.strictEqual(choices[0]?.finish_reason, "stop")
      // A client's own tool of the same name is a call.
      assert.strictEqual((yield* chat(message([use], "tool_use"))).choices[0]?.finish_reason, "tool_calls")
    })
  )

  it.effect.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["something_new", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"]
  ] as const)(
    "%s is the finish reason %s",
    Effect.fnUntraced(function* ([stopReason, expected]: readonly [string, string]) {
      const { choices } = yield* chat(message(said("a"), stopReason))
      assert.strictEqual(choices[0]?.finish_reason, expected)
    })
  )

  it.effect("say why the provider refused, and take silence for an answer", () =>
    Effect.gen(function* () {
      const details = { stop_details: { type: "refusal", category: "bio", explanation: "Not this." } }
      const refused = yield* chat(message([], "refusal", details))
      assert.deepStrictEqual(refused.choices[0]?.message, { role: "assistant", content: null, refusal: "Not this." })
      const silent = yield* chat(message([], "end_turn", { usage: {} }))
      assert.deepStrictEqual(silent.choices[0]?.message, { role: "assistant", content: "" })
      assert.isNull(silent.usage)
    })
  )

  it.effect("are refused when they are none", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* reasonOf(message([], null)), new Malformed({ detail: "empty completion" }))
      assert.deepStrictEqual(yield* reasonOf(json({ type: "message" })), new Malformed({ detail: "no content" }))
      assert.instanceOf(yield* reasonOf(json(Buffer.from("<html>"), { type: "text/html" })), Malformed)
      const timeout = new TimedOut({ phase: "first_token" })
      assert.strictEqual(yield* reasonOf(json({}, { failure: timeout })), timeout)
    })
  )
})

const rejected = (text: string, rest: Partial<Rejected> = {}) =>
  new Rejected({
    status: 400,
    message: text,
    param: null,
    code: "invalid_request_error",
    contextLength: false,
    ...rest
  })
const errors: ReadonlyArray<readonly [number, string, string, ProviderReason]> = [
  [401, "authentication_error", "invalid x-api-key", new CredentialsRefused({ status: 401 })],
  [402, "billing_error", "Payment required", new CredentialsRefused({ status: 402 })],
  [403, "permission_error", "Your API key does not have permission", new CredentialsRefused({ status: 403 })],
  [
    400,
    "invalid_request_error",
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
    new CredentialsRefused({ status: 400 })
  ],
  [
    400,
    "invalid_request_error",
    "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    new CredentialsRefused({ status: 400 })
  ],
  [
    429,
    "rate_limit_error",
    "Number of request tokens has exceeded",
    new Throttled({ status: 429, retryAfterMs: null })
  ],
  [500, "api_error", "Internal server error", new ServerFault({ status: 500, retryAfterMs: null })],
  [504, "timeout_error", "Request timed out", new ServerFault({ status: 504, retryAfterMs: null })],
  [529, "overloaded_error", "Overloaded", new ServerFault({ status: 529, retryAfterMs: null })],
  [
    404,
    "not_found_error",
    "model: claude-nothing",
    rejected("model: claude-nothing", { status: 404, param: "model", code: "not_found_error" })
  ],
  [
    413,
    "request_too_large",
    "Request exceeds the maximum size",
    rejected("Request exceeds the maximum size", { status: 413, code: "request_too_large" })
  ],
  [
    400,
    "invalid_request_error",
    "prompt is too long: 208310 tokens > 200000 maximum",
    rejected("prompt is too long: 208310 tokens > 200000 maximum", { contextLength: true })
  ],
  [
    400,
    "invalid_request_error",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    rejected("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", { contextLength: true })
  ],
  [
    400,
    "invalid_request_error",
    "stop_sequences.0: each stop sequence must contain non-whitespace",
    rejected("stop_sequences.0: each stop sequence must contain non-whitespace", { param: "stop" })
  ],
  [
    400,
    "invalid_request_error",
    "messages.2.content.0.image.source.base64: invalid base64 data",
    rejected("messages.2.content.0.image.source.base64: invalid base64 data", { param: "messages" })
  ],
  [400, "invalid_request_error", "unknown_member: no", rejected("unknown_member: no")]
]

describe("Anthropic errors", () => {
  it.effect.each(errors)(
    "%s %s: %s",
    Effect.fnUntraced(function* ([status, type, text, reason]: (typeof errors)[number]) {
      const body = { type: "error", error: { type, message: text }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" }
      assert.deepStrictEqual(yield* reasonOf(json(body, { status })), reason)
      const streamed = makeAnthropic(config(), replay(json(body, { status }))).chatStream({ request, offer })
      assert.deepStrictEqual((yield* Effect.flip(Effect.scoped(streamed))).reason, reason)
    })
  )

  it.effect("inside a 200 count as errors", () =>
    Effect.gen(function* () {
      const body = { type: "error", error: { type: "rate_limit_error", message: "slow down" } }
      assert.deepStrictEqual(yield* reasonOf(json(body)), new Throttled({ status: 429, retryAfterMs: null }))
    })
  )

  it.effect("never repeat the key", () =>
    Effect.gen(function* () {
      const keyed = config({ apiKey: Redacted.make("sk-ant-very-secret") })
      const error = { type: "invalid_request_error", message: "header sk-ant-very-secret is malformed" }
      const given = json({ type: "error", error }, { status: 400 })
      const failed = yield* Effect.flip(makeAnthropic(keyed, replay(given)).chat({ request, offer }))
      assert.instanceOf(failed.reason, Rejected)
      assert.notInclude(JSON.stringify(failed), "secret")
    })
  )
})

describe("what the API does not do", () => {
  it.effect("is refused before anything is sent", () =>
    Effect.gen(function* () {
      const sent: Array<string> = []
      const provider = makeAnthropic(config(), replay(json({}, { onSend: (path) => void sent.push(path) })))
      const embedding = yield* Effect.flip(provider.embed({ request: { model: "test/small", input: "a" }, offer }))
      const reason = new Unsupported({ param: "model", message: "test/small: the Messages API does not embed" })
      assert.deepStrictEqual(embedding.reason, reason)
      assert.isFalse(embedding.isRequestsFault)
      const two = { request: { ...request, n: 2 }, offer }
      for (const call of [provider.chat(two), Effect.scoped(Effect.asVoid(provider.chatStream(two)))]) {
        const error = yield* Effect.flip(Effect.asVoid<unknown, typeof embedding, never>(call))
        assert.deepInclude(error.reason, { _tag: "Unsupported", param: "n" })
      }
      assert.deepStrictEqual(sent, [])
    })
  )
})

const upstream = Effect.acquireRelease(
  Effect.promise(() => startUpstream()),
  (started) => Effect.promise(() => started.stop())
)

layer(Transport.layer)("Anthropic over HTTP", (it) => {
  it.effect("sends the version and the key, wherever the base URL ends", () =>
    Effect.gen(function* () {
      const { origin, requests, script, url } = yield* upstream
      const transport = yield* Transport
      yield* Effect.promise(() =>
        script(offer.upstream, { json: JSON.parse(String(fixture("anthropic-message.json"))) })
      )
      const apiKey = Redacted.make("sk-ant-1")
      for (const baseUrl of [url, origin]) {
        yield* makeAnthropic(config({ baseUrl, apiKey }), transport).chat({ request, offer })
      }
      const auth = { type: "header", name: "authorization" } as const
      const headers = { "anthropic-version": "2099-01-01" }
      yield* makeAnthropic(config({ baseUrl: url, apiKey, auth, headers }), transport).chat({ request, offer })
      const received = yield* Effect.promise(() => requests())
      assert.deepStrictEqual(
        received.map((each) => [
          each.path,
          each.headers["x-api-key"],
          each.headers["authorization"],
          each.headers["anthropic-version"]
        ]),
        [
          ["/v1/messages", "sk-ant-1", undefined, "2023-06-01"],
          ["/v1/messages", "sk-ant-1", undefined, "2023-06-01"],
          ["/v1/messages", undefined, "sk-ant-1", "2099-01-01"]
        ]
      )
    })
  )

  it.effect("hears how long the provider wants to be left alone", () =>
    Effect.gen(function* () {
      const { script, url } = yield* upstream
      const provider = makeAnthropic(config({ baseUrl: url }), yield* Transport)
      const refusal = (status: number, type: string) => ({
        status,
        headers: { "retry-after": "7" },
        json: { type: "error", error: { type, message: "later" }, request_id: "req_1" }
      })
      const behaviours = [refusal(429, "rate_limit_error"), refusal(529, "overloaded_error")]
      yield* Effect.promise(() => script(offer.upstream, behaviours))
      const limited = yield* Effect.flip(provider.chat({ request, offer }))
      assert.deepStrictEqual(limited.reason, new Throttled({ status: 429, retryAfterMs: 7_000 }))
      const overloaded = yield* Effect.flip(provider.chatStream({ request, offer }))
      assert.deepStrictEqual(overloaded.reason, new ServerFault({ status: 529, retryAfterMs: 7_000 }))
    })
  )

  it.effect("understands a server that is not of this project's making", () =>
    Effect.gen(function* () {
      const toolCalls = [
        { name: "f", arguments: '{"a":1}' },
        { name: "g", arguments: '{"b":2}' }
      ]
      const { url } = yield* startAimock([
        { match: { userMessage: "hi" }, response: { content: "Hello there" } },
        { match: { userMessage: "call" }, response: { toolCalls } }
      ])
      const provider = makeAnthropic(config({ baseUrl: url, apiKey: Redacted.make("sk-ant-1") }), yield* Transport)
      const claude = { ...offer, upstream: "claude-sonnet-4-5" }
      const reply = yield* provider.chat({ request, offer: claude })
      assert.strictEqual(reply.choices[0]?.message.content, "Hello there")
      assert.strictEqual(reply.choices[0]?.finish_reason, "stop")
      const tools = ["f", "g"].map((name) => ({ type: "function", function: { name } }))
      const calling: ChatRequest = { ...request, messages: [{ role: "user", content: "call" }], tools, stream: true }
      const stream = yield* provider.chatStream({ request: calling, offer: claude })
      const events = yield* Stream.runCollect(stream.stream)
      const called = ["", ""]
      const reasons: Array<string> = []
      for (const event of events) {
        if (event._tag === "End") continue
        for (const { delta, finish_reason } of event.choices) {
          if (finish_reason !== null) reasons.push(finish_reason)
          for (const { function: piece, index } of delta.tool_calls ?? []) {
            called[index] += `${piece?.name ?? ""}${piece?.arguments ?? ""}`
          }
        }
      }
      assert.deepStrictEqual(called, ['f{"a":1}', 'g{"b":2}'])
      assert.deepStrictEqual(reasons, ["tool_calls"])
      assert.strictEqual(events.at(-1)?._tag, "End")
    })
  )
})
