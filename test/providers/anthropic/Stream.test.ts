import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type ChatEvent, type ChatRequest, type Delta } from "../../../src/domain/Chat.ts"
import { makeAnthropic } from "../../../src/providers/anthropic/Anthropic.ts"
import { Cut, Malformed, type ProviderReason, ServerFault } from "../../../src/providers/Provider.ts"
import { config, fixture, offer, replay, type Replay } from "../replayedTransport.ts"

const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: true }
const asked: Readonly<Record<string, ChatRequest>> = {
  "anthropic-stream-answer-tool.sse": { ...request, response_format: { type: "json_object" } }
}

/** The events, and the failure of the stream. */
const read = Effect.fnUntraced(function* (given: Replay, sent = request) {
  const events: Array<ChatEvent> = []
  const reason = yield* Effect.scoped(
    Effect.flatMap(makeAnthropic(config(), replay(given)).chatStream({ request: sent, offer }), (stream) =>
      Stream.runForEach(stream.stream, (event) => Effect.sync(() => void events.push(event)))
    )
  ).pipe(
    Effect.as<ProviderReason | null>(null),
    Effect.catch((error) => Effect.succeed(error.reason))
  )
  return { events, reason }
})
const whole = Effect.fnUntraced(function* (given: Replay, sent = request) {
  const { events, reason } = yield* read(given, sent)
  assert.isNull(reason)
  return events
})

const choice = (delta: Delta, finish_reason: string | null = null): ChatEvent => ({
  _tag: "Choices",
  choices: [{ index: 0, delta, finish_reason }]
})
const end = (promptTokens: number, completionTokens: number, cachedTokens = 0, cache_write = 0): ChatEvent => ({
  _tag: "End",
  usage: { promptTokens, completionTokens, cachedTokens, ...(cache_write === 0 ? {} : { rare: { cache_write } }) },
  systemFingerprint: null
})
const unmeasured: ChatEvent = { _tag: "End", usage: null, systemFingerprint: null }
const begin = choice({ role: "assistant", content: "" })
const call = (index: number, id: string, name: string) =>
  choice({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] })
const piece = (index: number, text: string) => choice({ tool_calls: [{ index, function: { arguments: text } }] })

const made = { format: "unknown", provider: "alpha" }
const thought = (index: number, text: string) =>
  choice({ reasoning: text, reasoning_details: [{ type: "reasoning.text", text, index }] })
const sealed = (detail: object) => choice({ reasoning_details: [detail] })
/** The part of the content that the sources of the fixture support, in UTF-16 code units. */
const cited = { start_index: 6, end_index: 6 + "東京 🗼 is the capital".length }

const explanation = "This request was declined because it could enable cyber harm."
const streams: ReadonlyArray<readonly [string, ReadonlyArray<ChatEvent>, ProviderReason | null]> = [
  [
    "anthropic-stream-text.sse",
    [begin, choice({ content: "Grüße" }), choice({ content: " aus 東京 🗼" }), choice({}, "stop"), end(25, 12)],
    null
  ],
  [
    "anthropic-stream-tools.sse",
    [
      begin,
      choice({ content: "Let me check both." }),
      call(0, "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather"),
      piece(0, '{"location": "Pa'),
      piece(0, 'ris"}'),
      call(1, "toolu_01A09q90qw90lq917835lq9", "get_weather"),
      piece(1, '{"location": "Bogotá"}'),
      call(2, "toolu_01Noargs", "now"),
      piece(2, "{}"),
      choice({}, "tool_calls"),
      end(472, 89)
    ],
    null
  ],
  [
    "anthropic-stream-thinking.sse",
    [
      begin,
      thought(0, "9.11 < "),
      thought(0, "9.8"),
      sealed({
        type: "reasoning.text",
        signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk=",
        ...made,
        index: 0
      }),
      sealed({
        type: "reasoning.encrypted",
        data: "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIw",
        ...made,
        index: 1
      }),
      choice({ content: "9.8" }),
      choice({}, "stop"),
      end(44, 37)
    ],
    null
  ],
  [
    "anthropic-stream-cache.sse",
    [
      begin,
      choice({ content: "4" }),
      choice({
        citations: [
          {
            type: "char_location",
            cited_text: "2+2=4",
            document_index: 0,
            document_title: null,
            start_char_index: 0,
            end_char_index: 5,
            start_index: 0,
            end_index: 1
          }
        ]
      }),
      choice({}, "length"),
      end(1969, 5, 1_760, 188)
    ],
    null
  ],
  [
    "anthropic-stream-citations.sse",
    [
      begin,
      choice({ content: "Well: " }),
      choice({ content: "東京 🗼 is " }),
      choice({ content: "the capital" }),
      choice({
        citations: [
          {
            type: "web_search_result_location",
            cited_text: "Tokyo is the capital",
            url: "https://example.test/tokyo",
            title: "Tokyo",
            encrypted_index: "EpMBCioIAhgCIiQ=",
            ...cited
          },
          {
            type: "char_location",
            cited_text: "2+2=4",
            document_index: 0,
            document_title: "Sums",
            start_char_index: 0,
            end_char_index: 5,
            file_id: null,
            ...cited
          }
        ],
        annotations: [
          { type: "url_citation", url_citation: { ...cited, url: "https://example.test/tokyo", title: "Tokyo" } }
        ]
      }),
      choice({ content: "." }),
      choice({}, "stop"),
      end(472, 20)
    ],
    null
  ],
  [
    "anthropic-stream-refusal.sse",
    [begin, choice({ content: "Hello.." }), choice({ refusal: explanation }, "content_filter"), end(25, 3)],
    null
  ],
  [
    "anthropic-stream-answer-tool.sse",
    [
      begin,
      choice({ content: '{"city":' }),
      choice({ content: '"Paris"}' }),
      choice({}, "stop"),
      end(1969, 9, 1_760, 188)
    ],
    null
  ],
  [
    "anthropic-stream-error.sse",
    [begin, choice({ content: "Hel" })],
    new ServerFault({ status: 503, retryAfterMs: null })
  ]
]

const sse = (event: object): string => `data: ${JSON.stringify(event)}\n\n`
const text = (...events: ReadonlyArray<string>): ReadonlyArray<Buffer> => events.map((event) => Buffer.from(event))
const started = sse({ type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } })
const said = (words: string) =>
  sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words } })
const finished = (reason: string) =>
  sse({ type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 2 } })
const stopped = sse({ type: "message_stop" })

describe("Anthropic streams", () => {
  it.effect.each(streams)(
    "%s reads as it should, cut at every byte boundary",
    Effect.fnUntraced(function* ([name, events, reason]: (typeof streams)[number]) {
      const bytes = fixture(name)
      const sent = asked[name] ?? request
      const expected = { events, reason }
      assert.deepStrictEqual(yield* read({ chunks: [bytes] }, sent), expected)
      for (let at = 1; at < bytes.length; at++) {
        const halves = { chunks: [bytes.subarray(0, at), bytes.subarray(at)] }
        assert.deepStrictEqual(yield* read(halves, sent), expected, `cut at ${at}`)
      }
      const single = { chunks: Array.from(bytes, (byte) => Buffer.of(byte)) }
      assert.deepStrictEqual(yield* read(single, sent), expected)
    })
  )

  it.effect("are cut when they end or break before the reason to stop, and never end cleanly then", () =>
    Effect.gen(function* () {
      const chunks = text(started, said("Hel"))
      const ended = yield* read({ chunks })
      assert.deepStrictEqual(ended.events, [begin, choice({ content: "Hel" })])
      assert.instanceOf(ended.reason, Cut)
      const failure = new Cut({ detail: "ECONNRESET" })
      assert.deepStrictEqual(yield* read({ chunks, failure }), { events: ended.events, reason: failure })
    })
  )

  it.effect("are whole without message_stop once they said why they stopped", () =>
    Effect.gen(function* () {
      const chunks = text(started, said("a"), finished("stop_sequence"))
      const events = [begin, choice({ content: "a" }), choice({}, "stop"), end(3, 2)]
      assert.deepStrictEqual(yield* whole({ chunks }), events)
      assert.deepStrictEqual(yield* whole({ chunks, failure: new Cut({ detail: "ECONNRESET" }) }), events)
    })
  )

  it.effect("finish once, and by themselves when message_stop is all that came", () =>
    Effect.gen(function* () {
      const twice = yield* whole({
        chunks: text(started, said("a"), finished("end_turn"), finished("max_tokens"), stopped, said("late"))
      })
      assert.deepStrictEqual(twice, [begin, choice({ content: "a" }), choice({}, "stop"), end(3, 2)])
      const bare = yield* whole({ chunks: text(started, said("a"), stopped) })
      assert.deepStrictEqual(bare, [begin, choice({ content: "a" }), choice({}, "stop"), unmeasured])
    })
  )

  it.effect("break at an event that is no JSON, is nested too deep, or has lost its text", () =>
    Effect.gen(function* () {
      const damaged = [
        "data: {oops\n\n",
        "data: null\n\n",
        `data: {"type":"ping","x":${"[".repeat(5_000)}${"]".repeat(5_000)}}\n\n`,
        sse({ type: "content_block_delta", index: 0 }),
        sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: 5 } }),
        sse({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta" } })
      ]
      for (const event of damaged) {
        const { events, reason } = yield* read({ chunks: text(started, said("a"), event, said("b")) })
        assert.deepStrictEqual(events, [begin, choice({ content: "a" })])
        assert.instanceOf(reason, Malformed)
      }
      // Data after the stop reason is ignored.
      const events = yield* whole({ chunks: text(started, said("a"), finished("end_turn"), "data: {oops\n\n") })
      assert.deepStrictEqual(events.slice(1), [choice({ content: "a" }), choice({}, "stop"), end(3, 2)])
    })
  )

  it.effect("pass on no more sources of a text than the limit", () =>
    Effect.gen(function* () {
      const block = sse({ type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } })
      const source = sse({ type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: {} } })
      const over = sse({ type: "content_block_stop", index: 0 })
      const chunks = text(started, block, source.repeat(600), over, finished("end_turn"), stopped)
      const cited = (yield* whole({ chunks })).flatMap((event) =>
        event._tag === "Choices" ? event.choices.map(({ delta }) => delta["citations"]) : []
      )
      assert.deepStrictEqual(
        cited.flatMap((citations) => (Array.isArray(citations) ? [citations.length] : [])),
        [512]
      )
    })
  )

  it.effect("hear an error by the event's name", () =>
    Effect.gen(function* () {
      const error = "event: error\ndata: the model has crashed\n\n"
      const { events, reason } = yield* read({ chunks: text(started, said("a"), error, stopped) })
      assert.deepStrictEqual(events, [begin, choice({ content: "a" })])
      assert.deepStrictEqual(reason, new ServerFault({ status: 500, retryAfterMs: null }))
    })
  )

  it.effect("give a call without an id one of its own", () =>
    Effect.gen(function* () {
      const block = { type: "tool_use", id: "", name: "f", input: { a: 1 } }
      const opened = (index: number) => sse({ type: "content_block_start", index, content_block: block })
      const events = yield* whole({ chunks: text(started, opened(0), opened(1), finished("tool_use"), stopped) })
      const ids = events.flatMap((event) =>
        event._tag === "End" ? [] : event.choices.flatMap(({ delta }) => delta.tool_calls?.map(({ id }) => id) ?? [])
      )
      const named = ids.filter((id) => id !== undefined)
      assert.lengthOf(named, 2)
      assert.lengthOf(new Set(named), 2)
    })
  )

  it.effect("skip events of unknown kinds, and those that lack their members", () =>
    Effect.gen(function* () {
      const odd = [sse({ type: "content_block_start", index: 0 }), sse({ type: "content_block_stop" })]
      const hollow = [sse({ type: "message_delta" }), sse({})]
      const events = yield* whole({
        chunks: text(started, started, ...odd, ...hollow, said("a"), finished("end_turn"), stopped)
      })
      assert.deepStrictEqual(events, [begin, choice({ content: "a" }), choice({}, "stop"), end(3, 2)])
    })
  )

  it.effect("take a tool's whole input out of its first event", () =>
    Effect.gen(function* () {
      const block = { type: "tool_use", id: "t1", name: "f", input: { a: 1 } }
      const events = yield* whole({
        chunks: text(
          started,
          sse({ type: "content_block_start", index: 0, content_block: block }),
          sse({ type: "content_block_stop", index: 0 }),
          finished("tool_use"),
          stopped
        )
      })
      assert.deepStrictEqual(events.slice(1, 3), [call(0, "t1", "f"), piece(0, '{"a":1}')])
    })
  )

  it.effect("refuse an empty stream, and report no usage where none came", () =>
    Effect.gen(function* () {
      const empty = yield* read({ chunks: text(stopped) })
      assert.deepStrictEqual(empty, { events: [], reason: new Malformed({ detail: "empty completion" }) })
      const silent = yield* read({ chunks: text(sse({ type: "message_start" }), stopped) })
      assert.deepStrictEqual(silent.reason, new Malformed({ detail: "empty completion" }))
      const events = yield* whole({ chunks: text(sse({ type: "message_start" }), said("a"), stopped) })
      assert.deepStrictEqual(events.at(-1), { _tag: "End", usage: null, systemFingerprint: null })
    })
  )

  it.effect("are made of a whole reply where one comes instead", () =>
    Effect.gen(function* () {
      const events = yield* whole({ chunks: [fixture("anthropic-message-tools.json")], type: "application/json" })
      const [first] = events
      assert.strictEqual(first?._tag, "Choices")
      if (first?._tag === "Choices") {
        assert.deepStrictEqual(
          first.choices[0]?.delta.tool_calls?.map(({ id, index }) => [index, id]),
          [
            [0, "toolu_01A"],
            [1, "toolu_01B"]
          ]
        )
      }
      assert.deepStrictEqual(events.at(-1), end(82, 17))
    })
  )
})
