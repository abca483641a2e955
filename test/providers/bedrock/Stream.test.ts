import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type TokenUsage } from "../../../src/domain/pricing/Money.ts"
import { type ChatEvent } from "../../../src/domain/Chat.ts"
import {
  CredentialsRefused,
  Cut,
  Malformed,
  Rejected,
  ServerFault,
  Throttled,
  TimedOut
} from "../../../src/providers/Provider.ts"
import { broken, collect, event, exception, json, message, request } from "../bedrock.ts"
import { fixture } from "../replayedTransport.ts"

const deltas = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((each) => (each._tag === "Choices" ? each.choices.map(({ delta }) => delta) : []))
const finishes = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((each) =>
    each._tag === "Choices" ? each.choices.flatMap((choice) => choice.finish_reason ?? []) : []
  )
const end = (usage: TokenUsage | null): ChatEvent => ({
  _tag: "End",
  usage,
  systemFingerprint: null
})
const text = (said: string) => event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: said } })
const stop = (stopReason: string) => event("messageStop", { stopReason })
const usage = event("metadata", { usage: { inputTokens: 3, outputTokens: 2 } })
const answer = { role: "assistant", content: "" }

describe("Bedrock streams", () => {
  it.effect.each(["stream-text", "stream-tools", "stream-reasoning"])(
    "%s reads the same cut at every byte boundary, with one end",
    Effect.fnUntraced(function* (name: string) {
      const bytes = fixture(`bedrock-${name}.bin`)
      const whole = yield* collect({ chunks: [bytes] })
      assert.strictEqual(whole.filter(({ _tag }) => _tag === "End").length, 1)
      assert.strictEqual(whole.at(-1)?._tag, "End")
      assert.strictEqual(finishes(whole).length, 1)
      for (let at = 1; at < bytes.length; at++) {
        assert.deepStrictEqual(yield* collect({ chunks: [bytes.subarray(0, at), bytes.subarray(at)] }), whole)
      }
    })
  )

  it.effect("reads text and usage", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("bedrock-stream-text.bin")] })
      assert.deepStrictEqual(deltas(events), [
        answer,
        { content: "Grüße" },
        { content: " aus 東京" },
        { content: " 🗼" },
        {}
      ])
      assert.deepStrictEqual(finishes(events), ["stop"])
      assert.deepStrictEqual(events.at(-1), end({ promptTokens: 11, completionTokens: 10, cachedTokens: 0 }))
    })
  )

  it.effect("numbers parallel calls among themselves, and gives a call without arguments an empty object", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("bedrock-stream-tools.bin")] })
      const begun = (index: number, id: string, name: string) => ({
        tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }]
      })
      const piece = (index: number, given: string) => ({ tool_calls: [{ index, function: { arguments: given } }] })
      assert.deepStrictEqual(deltas(events), [
        answer,
        { content: "Let me look." },
        begun(0, "tooluse_k1Rz", "get_weather"),
        piece(0, '{"location"'),
        piece(0, ': "Paris"}'),
        begun(1, "tooluse_9xQa", "get_weather"),
        piece(1, '{"location": "Bogotá"}'),
        begun(2, "tooluse_Zt7m", "get_time"),
        piece(2, "{}"),
        {}
      ])
      assert.deepStrictEqual(finishes(events), ["tool_calls"])
    })
  )

  it.effect("reads reasoning with its seals, and counts what the cache read and wrote as prompt", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("bedrock-stream-reasoning.bin")] })
      const made = { format: "anthropic-claude-v1", provider: "alpha" }
      const said = (content: string) => ({
        reasoning: content,
        reasoning_details: [{ type: "reasoning.text", text: content, index: 0 }]
      })
      assert.deepStrictEqual(deltas(events), [
        answer,
        said("9.11 < "),
        said("9.8"),
        { reasoning_details: [{ type: "reasoning.text", signature: "EqQBCkgIARABGAIiQL8=", ...made, index: 0 }] },
        { reasoning_details: [{ type: "reasoning.encrypted", data: "ZW5jcnlwdGVk", ...made, index: 1 }] },
        { content: "9.8" },
        {}
      ])
      assert.deepStrictEqual(
        events.at(-1),
        end({ promptTokens: 1_287, completionTokens: 31, cachedTokens: 1_024, rare: { cache_write: 256 } })
      )
    })
  )

  it.effect("tells the sources of a text at its end, with the part of the content that they support", () =>
    Effect.gen(function* () {
      const delta = (contentBlockIndex: number, given: object) =>
        event("contentBlockDelta", { contentBlockIndex, delta: given })
      const citation = { title: "T", location: { documentChar: { documentIndex: 0, start: 1, end: 2 } } }
      const bytes = [
        delta(0, { text: "So: " }),
        event("contentBlockStop", { contentBlockIndex: 0 }),
        delta(1, { citation }),
        delta(1, { text: "東京" }),
        event("contentBlockStop", { contentBlockIndex: 1 }),
        stop("end_turn"),
        usage
      ]
      assert.deepStrictEqual(deltas(yield* collect({ chunks: [Buffer.concat(bytes)] })), [
        { role: "assistant", content: "So: " },
        { content: "東京" },
        { citations: [{ ...citation, start_index: 4, end_index: 6 }] },
        {}
      ])
    })
  )

  it.effect("passes an image on once it is whole", () =>
    Effect.gen(function* () {
      const piece = (bytes: string) =>
        event("contentBlockDelta", { contentBlockIndex: 0, delta: { image: { source: { bytes } } } })
      const bytes = [
        event("contentBlockStart", { contentBlockIndex: 0, start: { image: { format: "jpeg" } } }),
        piece("aGk="),
        piece("IHRoZXJl"),
        event("contentBlockStop", { contentBlockIndex: 0 }),
        stop("end_turn"),
        usage
      ]
      assert.deepStrictEqual(deltas(yield* collect({ chunks: [Buffer.concat(bytes)] })), [
        {
          role: "assistant",
          images: [{ type: "image_url", image_url: { url: "data:image/jpeg;base64,aGkgdGhlcmU=" }, index: 0 }]
        },
        {}
      ])
    })
  )

  it.effect("breaks at an image beyond the limit", () =>
    Effect.gen(function* () {
      const start = event("contentBlockStart", { contentBlockIndex: 0, start: { image: { format: "png" } } })
      const piece = event("contentBlockDelta", {
        contentBlockIndex: 0,
        delta: { image: { source: { bytes: "A".repeat(1_000_000) } } }
      })
      const { reason } = yield* broken({ chunks: [start, ...Array.from({ length: 40 }, () => piece)] })
      assert.deepStrictEqual(reason, new Malformed({ detail: "an image beyond the limit" }))
    })
  )

  it.effect("turns the arguments of the answering tool into content", () =>
    Effect.gen(function* () {
      const start = event("contentBlockStart", {
        contentBlockIndex: 0,
        start: { toolUse: { toolUseId: "t", name: "person" } }
      })
      const piece = event("contentBlockDelta", { contentBlockIndex: 0, delta: { toolUse: { input: '{"a":1}' } } })
      const format = { type: "json_schema", json_schema: { name: "person", schema: { type: "object" } } }
      const sent = request({ stream: true, response_format: format })
      const events = yield* collect({ chunks: [Buffer.concat([start, piece, stop("tool_use"), usage])] }, sent)
      assert.deepStrictEqual(deltas(events), [{ role: "assistant", content: '{"a":1}' }, {}])
      assert.deepStrictEqual(finishes(events), ["stop"])
    })
  )

  it.effect.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
    ["something_new", "stop"]
  ] as const)(
    "%s is %s",
    Effect.fnUntraced(function* ([reason, finish]: readonly [string, string]) {
      assert.deepStrictEqual(finishes(yield* collect({ chunks: [text("a"), stop(reason), usage] })), [finish])
    })
  )

  it.effect("breaks at an event that it cannot read", () =>
    Effect.gen(function* () {
      const damaged = [
        event("contentBlockDelta", "text"),
        event("contentBlockDelta", { delta: { text: 5 } }),
        event("metrics", [1]),
        message({ ":message-type": "event", ":event-type": "contentBlockDelta" }, `{"delta":{"te`)
      ]
      for (const bytes of damaged) {
        const { events, reason } = yield* broken({ chunks: [text("a"), bytes, text("b")] })
        assert.deepStrictEqual(deltas(events), [{ role: "assistant", content: "a" }])
        assert.instanceOf(reason, Malformed)
      }
    })
  )

  it.effect("skips events that it does not know", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [text("a"), event("ping", {}), text("b"), stop("end_turn"), usage] })
      assert.deepStrictEqual(deltas(events), [{ role: "assistant", content: "a" }, { content: "b" }, {}])
    })
  )

  it.effect("is whole without usage once the message stopped, and cut before that", () =>
    Effect.gen(function* () {
      const failure = new Cut({ detail: "ECONNRESET" })
      assert.deepStrictEqual((yield* collect({ chunks: [text("a"), stop("end_turn")] })).at(-1), end(null))
      assert.deepStrictEqual((yield* collect({ chunks: [text("a"), stop("end_turn")], failure })).at(-1), end(null))
      const ended = yield* broken({ chunks: [text("Hel")] })
      assert.deepStrictEqual(deltas(ended.events), [{ role: "assistant", content: "Hel" }])
      assert.instanceOf(ended.reason, Cut)
      assert.strictEqual((yield* broken({ chunks: [text("a")], failure })).reason, failure)
      const timeout = new TimedOut({ phase: "idle" })
      assert.strictEqual((yield* broken({ chunks: [text("a"), usage], failure: timeout })).reason, timeout)
    })
  )

  it.effect("fails with an exception's reason, after what came before it", () =>
    Effect.gen(function* () {
      const { events, reason } = yield* broken({ chunks: [fixture("bedrock-stream-throttled.bin")] })
      assert.deepStrictEqual(deltas(events), [answer, { content: "Hel" }])
      assert.deepStrictEqual(reason, new Throttled({ status: 429, retryAfterMs: null }))
    })
  )

  it.effect.each([
    ["throttlingException", new Throttled({ status: 429, retryAfterMs: null })],
    ["modelNotReadyException", new Throttled({ status: 429, retryAfterMs: null })],
    ["internalServerException", new ServerFault({ status: 500, retryAfterMs: null })],
    ["serviceUnavailableException", new ServerFault({ status: 503, retryAfterMs: null })],
    ["modelStreamErrorException", new ServerFault({ status: 424, retryAfterMs: null })],
    ["modelTimeoutException", new ServerFault({ status: 408, retryAfterMs: null })],
    ["accessDeniedException", new CredentialsRefused({ status: 403 })],
    ["somethingNewException", new ServerFault({ status: 500, retryAfterMs: null })]
  ] as const)(
    "%s in a stream",
    Effect.fnUntraced(function* ([type, expected]) {
      assert.deepStrictEqual((yield* broken({ chunks: [exception(type, { message: "no" })] })).reason, expected)
    })
  )

  it.effect("passes a validation's words on, and knows a context that is too long", () =>
    Effect.gen(function* () {
      const { reason } = yield* broken({
        chunks: [exception("validationException", { message: "Input is too long for requested model." })]
      })
      assert.deepStrictEqual(
        reason,
        new Rejected({
          status: 400,
          message: "Input is too long for requested model.",
          param: null,
          code: null,
          contextLength: true
        })
      )
    })
  )

  it.effect("refuses words that the model garbled, bytes that are no event stream, and HTML", () =>
    Effect.gen(function* () {
      const garbled = yield* broken({ chunks: [text("a"), stop("malformed_tool_use")] })
      assert.deepStrictEqual(garbled.reason, new Malformed({ detail: "malformed_tool_use" }))
      const noise = yield* broken({ chunks: [Buffer.from("data: {}\n\ndata: {}\n\n")] })
      assert.deepStrictEqual(noise.reason, new Malformed({ detail: "bad prelude checksum" }))
      const html = yield* broken({ chunks: [Buffer.from("<html>")], type: "text/html" })
      assert.deepStrictEqual(html.reason, new Malformed({ detail: "HTML" }))
      assert.instanceOf((yield* broken({ chunks: [] })).reason, Cut)
    })
  )

  it.effect("streams a whole reply that came instead of a stream", () =>
    Effect.gen(function* () {
      const events = yield* collect(json(fixture("bedrock-converse.json")))
      const [first] = deltas(events)
      assert.deepStrictEqual(
        first?.tool_calls?.map(({ id, index }) => [index, id]),
        [
          [0, "tooluse_k1Rz"],
          [1, "tooluse_Zt7m"]
        ]
      )
      assert.strictEqual(events.at(-1)?._tag, "End")
    })
  )
})
