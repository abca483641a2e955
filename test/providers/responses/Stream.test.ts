import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type ChatEvent, type ChatRequest, type Delta } from "../../../src/domain/Chat.ts"
import { makeResponses } from "../../../src/providers/responses/Responses.ts"
import {
  CredentialsRefused,
  Cut,
  Malformed,
  type ProviderReason,
  Rejected,
  ServerFault,
  Throttled
} from "../../../src/providers/Provider.ts"
import {
  callItem,
  messageItem,
  reasoningItem,
  responseBody,
  responseChunks,
  responseEvent
} from "../../support/upstream/ResponseBodies.ts"
import { config, fixture, offer, replay, type Replay } from "../replayedTransport.ts"

const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: true }

/** The events, and the failure of the stream. */
const read = Effect.fnUntraced(function* (given: Replay) {
  const events: Array<ChatEvent> = []
  const call = { request, offer: { ...offer, api: "responses" as const } }
  const reason = yield* Effect.scoped(
    Effect.flatMap(makeResponses(config(), replay(given)).chatStream(call), (stream) =>
      Stream.runForEach(stream.stream, (event) => Effect.sync(() => void events.push(event)))
    )
  ).pipe(
    Effect.as<ProviderReason | null>(null),
    Effect.catch((error) => Effect.succeed(error.reason))
  )
  return { events, reason }
})

const text = (...events: ReadonlyArray<string>): ReadonlyArray<Buffer> => events.map((event) => Buffer.from(event))
const deltas = (events: ReadonlyArray<ChatEvent>): ReadonlyArray<Delta> =>
  events.flatMap((event) => (event._tag === "Choices" ? event.choices.map(({ delta }) => delta) : []))
const content = (events: ReadonlyArray<ChatEvent>) =>
  deltas(events)
    .map(({ content: piece }) => piece ?? "")
    .join("")
const finishes = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((event) =>
    event._tag === "Choices" ? event.choices.flatMap(({ finish_reason: reason }) => reason ?? []) : []
  )

const choice = (delta: Delta): ChatEvent => ({
  _tag: "Choices",
  choices: [{ index: 0, delta, finish_reason: null }]
})
const end = (promptTokens: number, completionTokens: number, cachedTokens = 0, reasoningTokens = 0): ChatEvent => ({
  _tag: "End",
  usage: { promptTokens, completionTokens, cachedTokens, ...(reasoningTokens === 0 ? {} : { reasoningTokens }) },
  usageExtra: {
    prompt_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoningTokens }
  },
  systemFingerprint: null
})
/** The last choice, with the tier of the whole response. */
const last = (delta: Delta, finish_reason: string): ChatEvent => ({
  _tag: "Choices",
  choices: [{ index: 0, delta, finish_reason }],
  extra: { service_tier: "default" }
})
const begin = choice({ role: "assistant", content: "" })
const called = (index: number, id: string, name: string) =>
  choice({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] })
const piece = (index: number, input: string) => choice({ tool_calls: [{ index, function: { arguments: input } }] })

const thinker = {
  id: "rs_6820f383d7c08191846711c5df8233bc0ac5ba57aafcbac0",
  format: "openai-responses-v1",
  provider: "alpha"
}
const summary = (index: number, said: string, isFirst: boolean) => ({
  type: "reasoning.summary",
  summary: said,
  ...(isFirst ? thinker : {}),
  index
})
const encrypted = (index: number, data: string) => ({ type: "reasoning.encrypted", data, ...thinker, index })
const citation = { start_index: 0, end_index: 5, url: "https://example.com/news", title: "News" }
const hello = { token: "Hello", bytes: [72, 101, 108, 108, 111], logprob: -0.01 }

const streams: ReadonlyArray<readonly [string, ReadonlyArray<ChatEvent>, ProviderReason | null]> = [
  [
    "responses-stream-text.sse",
    [begin, choice({ content: "Grüße" }), choice({ content: " aus 東京 🗼" }), last({}, "stop"), end(37, 11, 32)],
    null
  ],
  [
    "responses-stream-tools.sse",
    [
      begin,
      choice({ reasoning_details: [encrypted(0, "gAAAAABoISQ24OyVRYbkYfukdJoqdzWT-3uiErKInHDC")] }),
      called(0, "call_unDRmkcPPnDJXzqZ6vKJYTGd", "get_weather"),
      piece(0, '{"location":"Pa'),
      piece(0, 'ris"}'),
      called(1, "call_8Tqb2nqRZKqzKWPbQbUZpVzJ", "get_weather"),
      piece(1, '{"location":"Bogotá"}'),
      called(2, "call_Noargs", "now"),
      piece(2, "{}"),
      last({}, "tool_calls"),
      end(81, 42, 0, 12)
    ],
    null
  ],
  [
    "responses-stream-reasoning.sse",
    [
      begin,
      choice({ reasoning: "**Comparing** ", reasoning_details: [summary(0, "**Comparing** ", true)] }),
      choice({ reasoning: "9.11 < 9.8", reasoning_details: [summary(0, "9.11 < 9.8", false)] }),
      choice({ reasoning: "\n\n**Answering**", reasoning_details: [summary(1, "**Answering**", true)] }),
      choice({ reasoning_details: [encrypted(2, "gAAAAABoKxYz-9Yc_encrypted-reasoning==")] }),
      choice({ content: "9.8 is" }),
      choice({ content: " larger." }),
      last({ phase: "final_answer" }, "stop"),
      end(29, 187, 0, 128)
    ],
    null
  ],
  [
    "responses-stream-custom.sse",
    [
      begin,
      choice({ content: "Running it." }),
      choice({
        tool_calls: [
          { index: 0, id: "call_aGiFQkRWSWAIsMQ19fKqxUgb", type: "custom", custom: { name: "code_exec", input: "" } }
        ]
      }),
      choice({ tool_calls: [{ index: 0, custom: { input: 'print("hello' } }] }),
      choice({ tool_calls: [{ index: 0, custom: { input: ', 世界")' } }] }),
      last({ phase: "commentary" }, "tool_calls"),
      end(60, 20)
    ],
    null
  ],
  [
    "responses-stream-refusal.sse",
    [
      begin,
      choice({ refusal: "I'm sorry, " }),
      choice({ refusal: "I can't help with that." }),
      last({}, "stop"),
      end(52, 14)
    ],
    null
  ],
  [
    "responses-stream-incomplete.sse",
    [begin, choice({ content: "The capital of" }), last({}, "length"), end(328, 16)],
    null
  ],
  [
    "responses-stream-annotations.sse",
    [
      begin,
      {
        _tag: "Choices",
        choices: [
          {
            index: 0,
            delta: { content: "Hello" },
            logprobs: { content: [{ ...hello, top_logprobs: [hello] }], refusal: null },
            finish_reason: null
          }
        ]
      },
      choice({ annotations: [{ type: "url_citation", url_citation: citation }] }),
      last({}, "stop"),
      end(10, 3)
    ],
    null
  ],
  [
    "responses-stream-failed.sse",
    [begin, choice({ content: "Hel" })],
    new ServerFault({ status: 500, retryAfterMs: null })
  ]
]

const created = responseEvent("response.created", { response: { id: "resp_1", status: "in_progress" } })
const said = (delta: unknown, members: object = {}) =>
  responseEvent("response.output_text.delta", { output_index: 0, content_index: 0, delta, ...members })
const completed = (members: Readonly<Record<string, unknown>> = {}) =>
  responseEvent("response.completed", { response: responseBody([], members) })
const added = (item: Readonly<Record<string, unknown>>, output_index = 0) =>
  responseEvent("response.output_item.added", { output_index, item })
const done = (item: Readonly<Record<string, unknown>>, output_index = 0) =>
  responseEvent("response.output_item.done", { output_index, item })

describe("Responses streams", () => {
  it.effect.each(streams)(
    "%s reads as it should, cut at every byte boundary",
    Effect.fnUntraced(function* ([name, events, reason]: (typeof streams)[number]) {
      const bytes = fixture(name)
      const expected = { events, reason }
      assert.deepStrictEqual(yield* read({ chunks: [bytes] }), expected)
      for (let at = 1; at < bytes.length; at++) {
        const halves = { chunks: [bytes.subarray(0, at), bytes.subarray(at)] }
        assert.deepStrictEqual(yield* read(halves), expected, `cut at ${at}`)
      }
      const single = { chunks: Array.from(bytes, (byte) => Buffer.of(byte)) }
      assert.deepStrictEqual(yield* read(single), expected)
    })
  )

  it.effect.each(streams.filter(([, , reason]) => reason === null))(
    "%s is cut wherever it stops before its last event is whole",
    Effect.fnUntraced(function* ([name]: (typeof streams)[number]) {
      const bytes = fixture(name)
      // The end of the last event's data. Its blank line does not matter.
      const whole = bytes.length - 2
      for (let at = 1; at < bytes.length; at++) {
        const { events, reason } = yield* read({ chunks: [bytes.subarray(0, at)] })
        const isWhole = at >= whole
        assert.strictEqual(events.at(-1)?._tag === "End", isWhole, `stopped at ${at}`)
        if (isWhole) assert.isNull(reason)
        else assert.instanceOf(reason, Cut, `stopped at ${at}`)
      }
    })
  )

  it.effect("hear an error event however it is cut", () =>
    Effect.gen(function* () {
      const error = responseEvent("error", { code: "rate_limit_exceeded", message: "slow", param: null })
      const bytes = Buffer.from([created, said("a"), error].join(""))
      for (let at = 0; at <= bytes.length; at++) {
        const { events, reason } = yield* read({ chunks: [bytes.subarray(0, at), bytes.subarray(at)] })
        assert.deepStrictEqual(events, [begin, choice({ content: "a" })])
        assert.deepStrictEqual(reason, new Throttled({ status: 429, retryAfterMs: null }))
      }
    })
  )

  it.effect("are cut when they end or break before their last event, whatever came before", () =>
    Effect.gen(function* () {
      const chunks = text(created, added(messageItem("")), said("Hel"), done(messageItem("Hel")), "data: [DONE]\n\n")
      const ended = yield* read({ chunks })
      assert.deepStrictEqual(ended.events, [begin, choice({ content: "Hel" })])
      assert.instanceOf(ended.reason, Cut)
      const failure = new Cut({ detail: "ECONNRESET" })
      assert.deepStrictEqual(yield* read({ chunks, failure }), { events: ended.events, reason: failure })
    })
  )

  it.effect("break at an event that is no JSON, is nested too deep, or has lost its text", () =>
    Effect.gen(function* () {
      const damaged = [
        "data: {oops\n\n",
        "data: null\n\n",
        `data: {"type":"keepalive","x":${"[".repeat(5_000)}${"]".repeat(5_000)}}\n\n`,
        said(5),
        said({ say: "x" }),
        responseEvent("response.function_call_arguments.delta", { output_index: 0 })
      ]
      for (const event of damaged) {
        const { events, reason } = yield* read({ chunks: text(created, said("a"), event, said("b"), completed()) })
        assert.deepStrictEqual(events, [begin, choice({ content: "a" })])
        assert.instanceOf(reason, Malformed)
      }
    })
  )

  it.effect("pass over events of unknown kinds, and those that lack their members", () =>
    Effect.gen(function* () {
      const odd = [
        responseEvent("keepalive", { sequence_number: 3 }),
        responseEvent("response.queued"),
        responseEvent("response.web_search_call.in_progress", { output_index: 0, item_id: "ws_1" }),
        responseEvent("response.output_item.added"),
        responseEvent("response.output_item.done", { output_index: 7, item: { type: "web_search_call", id: "ws_1" } }),
        responseEvent("response.output_text.done"),
        "data: {}\n\n"
      ]
      const { events, reason } = yield* read({ chunks: text(created, ...odd, said("a"), completed(), said("late")) })
      assert.isNull(reason)
      assert.deepStrictEqual(events, [begin, choice({ content: "a" }), last({}, "stop"), end(9, 5)])
    })
  )

  it.effect("believe what is said whole: arguments, texts and items without deltas", () =>
    Effect.gen(function* () {
      const call = callItem("call_1", "f", '{"a":1}')
      const input = { output_index: 0, item_id: "fc_call_1", arguments: '{"a":1}' }
      const ways: ReadonlyArray<ReadonlyArray<string>> = [
        [added({ ...call, arguments: "" }), responseEvent("response.function_call_arguments.done", input), done(call)],
        [added({ ...call, arguments: "" }), done(call)],
        [done(call)],
        // The deltas of a call without a name wait for the whole item.
        [responseEvent("response.function_call_arguments.delta", { output_index: 0, delta: '{"a"' }), done(call)]
      ]
      const expected = [begin, called(0, "call_1", "f"), piece(0, '{"a":1}'), last({}, "tool_calls"), end(9, 5)]
      for (const way of ways) {
        assert.deepStrictEqual(yield* read({ chunks: text(created, ...way, completed()) }), {
          events: expected,
          reason: null
        })
      }
      const whole = responseEvent("response.completed", { response: responseBody([call]) })
      assert.deepStrictEqual((yield* read({ chunks: text(created, whole) })).events, expected)

      const part = { output_index: 0, content_index: 0 }
      const texts = [
        [responseEvent("response.output_text.done", { ...part, text: "Hello" }), done(messageItem("Hello"))],
        [said("Hel"), responseEvent("response.output_text.done", { ...part, text: "Hello" })],
        [said("He"), said("l"), done(messageItem("Hello"))],
        [done(messageItem("Hello"))]
      ]
      for (const way of texts) {
        const { events, reason } = yield* read({ chunks: text(created, ...way, completed()) })
        assert.isNull(reason)
        assert.strictEqual(content(events), "Hello")
      }
    })
  )

  it.effect("read the same whether in pieces or whole, with what separates messages and thoughts", () =>
    Effect.gen(function* () {
      const output = [
        reasoningItem(["one", "two"], "secret-1"),
        messageItem("I look it up.", { phase: "commentary" }),
        reasoningItem(["three"], "secret-2", "rs_2"),
        messageItem("Here it is."),
        callItem("call_1", "f", "{}")
      ]
      const { events } = yield* read({ chunks: text(...responseChunks(output)) })
      assert.strictEqual(content(events), "I look it up.\n\nHere it is.")
      assert.strictEqual(
        deltas(events)
          .map(({ reasoning }) => reasoning ?? "")
          .join(""),
        "one\n\ntwo\n\nthree"
      )
      const whole = yield* read({ chunks: text(JSON.stringify(responseBody(output))), type: "application/json" })
      const [message] = deltas(whole.events)
      assert.strictEqual(message?.content, "I look it up.\n\nHere it is.")
      assert.strictEqual(message?.reasoning, "one\n\ntwo\n\nthree")
      assert.deepStrictEqual(
        deltas(whole.events).flatMap(({ tool_calls }) => tool_calls?.map(({ index }) => index) ?? []),
        [0]
      )
      assert.deepStrictEqual(whole.events.at(-1), end(9, 5))
    })
  )

  it.effect("keep calls apart that a server gives one place, or no place", () =>
    Effect.gen(function* () {
      const calls = ["call_1", "call_2"].map((id) => callItem(id, "f", `{"id":"${id}"}`))
      for (const place of [{ output_index: 0 }, {}]) {
        const events = calls.flatMap((item) => [
          responseEvent("response.output_item.added", { ...place, item: { ...item, arguments: "" } }),
          responseEvent("response.output_item.done", { ...place, item })
        ])
        const read_ = yield* read({ chunks: text(created, ...events, completed()) })
        const indexes = deltas(read_.events).flatMap(({ tool_calls }) => tool_calls?.map(({ index }) => index) ?? [])
        assert.deepStrictEqual(indexes, [0, 0, 1, 1])
      }
    })
  )

  it.effect("give the role once, whether the response was announced or not", () =>
    Effect.gen(function* () {
      const { events } = yield* read({ chunks: text(said("a"), created, said("b"), completed()) })
      assert.deepStrictEqual(
        deltas(events).map(({ role }) => role),
        ["assistant", undefined, undefined]
      )
    })
  )

  const stops: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>, string]> = [
    ["response.incomplete", { incomplete_details: { reason: "content_filter" } }, "content_filter"],
    ["response.incomplete", { incomplete_details: { reason: "max_output_tokens" } }, "length"],
    ["response.incomplete", {}, "length"],
    ["response.completed", { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }, "length"],
    ["response.completed", { status: undefined }, "stop"]
  ]
  it.effect.each(stops)("%s %j finishes with %s", ([type, members, finish]) =>
    Effect.gen(function* () {
      const ended = responseEvent(type, { response: responseBody([], members) })
      const { events, reason } = yield* read({ chunks: text(created, said("a"), ended) })
      assert.isNull(reason)
      assert.deepStrictEqual(finishes(events), [finish])
    })
  )

  const failed = (error: object | null, members: object = {}) =>
    responseEvent("response.failed", { response: responseBody([], { status: "failed", error, ...members }) })
  const failures: ReadonlyArray<readonly [string, string, ProviderReason]> = [
    [
      "a rate limit",
      failed({ code: "rate_limit_exceeded", message: "slow" }),
      new Throttled({ status: 429, retryAfterMs: null })
    ],
    [
      "a fault of the server",
      failed({ code: "server_error", message: "x" }),
      new ServerFault({ status: 500, retryAfterMs: null })
    ],
    [
      "a context that is too long",
      failed({ code: "context_length_exceeded", message: "Your input exceeds the context window of this model." }),
      new Rejected({
        status: 400,
        message: "Your input exceeds the context window of this model.",
        param: null,
        code: "context_length_exceeded",
        contextLength: true
      })
    ],
    [
      "a prompt against the policy",
      failed({ code: "invalid_prompt", message: "flagged" }),
      new Rejected({ status: 400, message: "flagged", param: null, code: "invalid_prompt", contextLength: false })
    ],
    [
      "an image that cannot be read",
      failed({ code: "image_parse_error", message: "bad", param: "input[0].content[1]" }),
      new Rejected({ status: 400, message: "bad", param: "messages", code: "image_parse_error", contextLength: false })
    ],
    ["no error at all", failed(null), new Malformed({ detail: "a response that is not complete" })],
    [
      "an error event",
      responseEvent("error", { code: "server_error", message: "oops", param: null }),
      new ServerFault({ status: 500, retryAfterMs: null })
    ],
    [
      "an error event without a name",
      `data: ${JSON.stringify({ type: "error", code: "rate_limit_exceeded", message: "slow" })}\n\n`,
      new Throttled({ status: 429, retryAfterMs: null })
    ],
    [
      "an error event with an error object",
      responseEvent("error", { error: { type: "insufficient_quota", message: "pay" } }),
      new CredentialsRefused({ status: 402 })
    ],
    [
      "plain text",
      "event: error\ndata: the model has crashed\n\n",
      new ServerFault({ status: 500, retryAfterMs: null })
    ],
    [
      "a cancelled response",
      responseEvent("response.completed", { response: responseBody([], { status: "cancelled" }) }),
      new Malformed({ detail: "a response that is not complete" })
    ]
  ]
  it.effect.each(failures)("fail with the reason of %s, after what was said", ([, event, expected]) =>
    Effect.gen(function* () {
      const { events, reason } = yield* read({ chunks: text(created, said("a"), event) })
      assert.deepStrictEqual(events, [begin, choice({ content: "a" })])
      assert.deepStrictEqual(reason, expected)
    })
  )

  it.effect("refuse an answer without the words that it counts, HTML, and too many items", () =>
    Effect.gen(function* () {
      const silent = yield* read({ chunks: text(created, completed({ usage: { completion_tokens: 12 } })) })
      assert.instanceOf(silent.reason, Malformed)
      assert.instanceOf((yield* read({ chunks: text("<html>"), type: "text/html" })).reason, Malformed)
      const many = Array.from({ length: 1_100 }, (_, at) => said("x", { output_index: at }))
      assert.instanceOf((yield* read({ chunks: text(created, ...many, completed()) })).reason, Malformed)
      const parts = Array.from({ length: 1_100 }, (_, at) => said("x", { content_index: at }))
      assert.instanceOf((yield* read({ chunks: text(created, ...parts, completed()) })).reason, Malformed)
    })
  )

  it.effect("report no usage where none came", () =>
    Effect.gen(function* () {
      const { events } = yield* read({ chunks: text(created, said("a"), completed({ usage: null })) })
      assert.deepStrictEqual(events.at(-1), { _tag: "End", usage: null, systemFingerprint: null })
    })
  )
})
