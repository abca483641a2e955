import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type ChatEvent, type ChatRequest } from "../../../src/domain/Chat.ts"
import { type TokenUsage } from "../../../src/domain/pricing/Money.ts"
import { makeGemini } from "../../../src/providers/gemini/Gemini.ts"
import { Cut, Malformed, Rejected, ServerFault, TimedOut } from "../../../src/providers/Provider.ts"
import { sse } from "../../support/upstream/Bodies.ts"
import { config, fixture, offer, replay, type Replay } from "../replayedTransport.ts"

const request: ChatRequest = { model: "google/g", messages: [{ role: "user", content: "hi" }], stream: true }
const open = (given: Replay, sent: Partial<ChatRequest> = {}) =>
  makeGemini(config({ slug: "gemini", dialect: "gemini" }), replay(given)).chatStream({
    request: { ...request, ...sent },
    offer
  })
const collect = (given: Replay, sent: Partial<ChatRequest> = {}) =>
  Effect.scoped(Effect.flatMap(open(given, sent), (events) => Stream.runCollect(events.stream)))

/** The events before the failure, and the failure. */
const broken = Effect.fnUntraced(function* (given: Replay, sent: Partial<ChatRequest> = {}) {
  const events: Array<ChatEvent> = []
  const error = yield* Effect.flip(
    Effect.scoped(
      Effect.flatMap(open(given, sent), (stream) =>
        Stream.runForEach(stream.stream, (event) => Effect.sync(() => void events.push(event)))
      )
    )
  )
  return { events, reason: error.reason }
})

const packets = (...events: ReadonlyArray<string>): ReadonlyArray<Buffer> => events.map((event) => Buffer.from(event))
const deltas = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((event) => (event._tag === "Choices" ? event.choices : []))
const end = (usage: TokenUsage | null, systemFingerprint: string | null = null): ChatEvent => ({
  _tag: "End",
  usage,
  systemFingerprint
})
const said = (text: string, rest: object = {}) =>
  sse({ candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0, ...rest }] })
const last = (text: string) => said(text, { finishReason: "STOP" })

describe("Gemini streams", () => {
  it.effect.each(["text", "tools", "reasoning", "grounded", "signatures"].map((name) => `gemini-stream-${name}.sse`))(
    "%s reads the same cut at every byte boundary",
    Effect.fnUntraced(function* (name: string) {
      const bytes = fixture(name)
      const whole = yield* collect({ chunks: [bytes] })
      assert.strictEqual(whole.filter((event) => event._tag === "End").length, 1)
      assert.strictEqual(whole.at(-1)?._tag, "End")
      assert.strictEqual(deltas(whole).filter(({ finish_reason }) => finish_reason !== null).length, 1)
      for (let at = 1; at < bytes.length; at++) {
        const cut = yield* collect({ chunks: [bytes.subarray(0, at), bytes.subarray(at)] })
        assert.deepStrictEqual(cut, whole, `cut at ${at}`)
      }
      assert.deepStrictEqual(yield* collect({ chunks: Array.from(bytes, (byte) => Buffer.of(byte)) }), whole)
    })
  )

  it.effect("reads text and the last usage", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* collect({ chunks: [fixture("gemini-stream-text.sse")] }), [
        {
          _tag: "Choices",
          choices: [{ index: 0, delta: { role: "assistant", content: "Grü" }, finish_reason: null }]
        },
        { _tag: "Choices", choices: [{ index: 0, delta: { content: "ße aus 東京" }, finish_reason: null }] },
        { _tag: "Choices", choices: [{ index: 0, delta: { content: " 🗼" }, finish_reason: null }] },
        { _tag: "Choices", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
        end({ promptTokens: 19, completionTokens: 10, cachedTokens: 0 }, "gemini-2.5-flash")
      ])
    })
  )

  it.effect("numbers parallel calls over events, makes up ids, and keeps the signature", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("gemini-stream-tools.sse")] })
      assert.deepStrictEqual<unknown>(deltas(events), [
        { index: 0, delta: { role: "assistant", reasoning: "**Looking up** the weather" }, finish_reason: null },
        {
          index: 0,
          delta: {
            tool_calls: [
              {
                index: 0,
                id: "call_7kLpYq_0",
                type: "function",
                function: { name: "get_weather", arguments: '{"location":"Paris"}' },
                extra_content: { google: { thought_signature: "CvcQAVSoXO4=", provider: "gemini" } }
              }
            ]
          },
          finish_reason: null
        },
        {
          index: 0,
          delta: {
            tool_calls: [
              {
                index: 1,
                id: "call_7kLpYq_1",
                type: "function",
                function: { name: "get_weather", arguments: '{"location":"Bogotá"}' }
              },
              { index: 2, id: "t0qhw5fh", type: "function", function: { name: "get_time", arguments: "{}" } }
            ]
          },
          finish_reason: null
        },
        { index: 0, delta: {}, finish_reason: "tool_calls" }
      ])
      assert.deepStrictEqual(
        events.at(-1),
        end({ promptTokens: 82, completionTokens: 78, cachedTokens: 0, reasoningTokens: 61 }, "gemini-3-flash-preview")
      )
    })
  )

  it.effect("tells its sources at the end, by the characters of the content", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("gemini-stream-grounded.sse")] })
      const last = deltas(events).at(-1)?.delta ?? {}
      const cited = (start_index: number, end_index: number, url: string, title: string) => ({
        type: "url_citation",
        url_citation: { start_index, end_index, url, title }
      })
      assert.deepStrictEqual(last["annotations"], [
        cited(0, 18, "https://example.test/a", "example.test"),
        cited(0, 18, "https://example.test/b", "https://example.test/b"),
        cited(19, 31, "https://example.test/b", "https://example.test/b")
      ])
      assert.deepNestedPropertyVal(last, "grounding_metadata.webSearchQueries", ["capital of Japan"])
    })
  )

  it.effect("annotates no content beyond its limit", () =>
    Effect.gen(function* () {
      const grounding = {
        groundingChunks: [{ web: { uri: "https://example.test" } }],
        groundingSupports: [{ segment: { endIndex: 1 }, groundingChunkIndices: [0] }]
      }
      const piece = said("a".repeat(500_000))
      const end = said("a", { finishReason: "STOP", groundingMetadata: grounding })
      const membersOf = Effect.fnUntraced(function* (pieces: number) {
        const events = yield* collect({ chunks: packets(...Array.from({ length: pieces }, () => piece), end) })
        return Object.keys(deltas(events).at(-1)?.delta ?? {})
      })
      assert.deepStrictEqual(yield* membersOf(2), ["annotations", "grounding_metadata"])
      assert.deepStrictEqual(yield* membersOf(3), ["grounding_metadata"])
    })
  )

  it.effect("passes one call on where parallel ones are not wanted", () =>
    Effect.gen(function* () {
      const given = { chunks: [fixture("gemini-stream-tools.sse")] }
      const calls = deltas(yield* collect(given, { parallel_tool_calls: false })).flatMap(
        ({ delta }) => delta.tool_calls ?? []
      )
      assert.deepStrictEqual(
        calls.map(({ id }) => id),
        ["call_7kLpYq_0"]
      )
    })
  )

  it.effect("keeps reasoning apart, and counts cached tokens and thoughts", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("gemini-stream-reasoning.sse")] })
      assert.deepStrictEqual<unknown>(deltas(events), [
        { index: 0, delta: { role: "assistant", reasoning: "Nine point eleven…" }, finish_reason: null },
        { index: 0, delta: { content: "9.8", reasoning: " is less." }, finish_reason: null },
        { index: 0, delta: {}, finish_reason: "length" }
      ])
      assert.deepStrictEqual(
        events.at(-1),
        end({ promptTokens: 2152, completionTokens: 145, cachedTokens: 2027, reasoningTokens: 142 }, "gemini-2.5-pro")
      )
    })
  )

  it.effect("lets a choice finish once, though some models give the reason with every event", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: packets(last("a"), last("b"), last("c")) })
      assert.deepStrictEqual(
        deltas(events).map(({ delta, finish_reason }) => [delta.content, finish_reason]),
        [
          ["a", null],
          ["b", null],
          ["c", null],
          [undefined, "stop"]
        ]
      )
      assert.deepStrictEqual(events.at(-1), end(null))
    })
  )

  it.effect("tells candidates apart", () =>
    Effect.gen(function* () {
      const logprobsResult = { chosenCandidates: [{ token: "b", logProbability: -1 }] }
      const events = yield* collect(
        {
          chunks: packets(
            said("a"),
            said("b", { index: 1, finishReason: "SAFETY", logprobsResult }),
            said("c", { finishReason: "STOP" })
          )
        },
        { n: 2 }
      )
      assert.deepStrictEqual(
        deltas(events).map(({ delta, finish_reason, index }) => [index, delta.role, delta.content, finish_reason]),
        [
          [0, "assistant", "a", null],
          [1, "assistant", "b", null],
          [0, undefined, "c", null],
          [0, undefined, undefined, "stop"],
          [1, undefined, undefined, "content_filter"]
        ]
      )
      assert.nestedPropertyVal(deltas(events)[1], "logprobs.content[0].logprob", -1)
    })
  )

  it.effect("says of a blocked prompt that the request is at fault, of a blocked answer that it was withheld", () =>
    Effect.gen(function* () {
      const block = sse({ promptFeedback: { blockReason: "SAFETY", blockReasonMessage: "not so" } })
      const { events, reason } = yield* broken({ chunks: packets(block) })
      assert.deepStrictEqual(events, [])
      assert.instanceOf(reason, Rejected)
      assert.deepInclude(reason, { message: "the prompt was blocked: not so", code: "content_filter" })
      const half = yield* collect({ chunks: packets(said("a"), block) })
      assert.deepStrictEqual(deltas(half).at(-1), { index: 0, delta: {}, finish_reason: "content_filter" })
    })
  )

  it.effect("breaks at an event that is malformed", () =>
    Effect.gen(function* () {
      const damaged = [
        "data: {oops\n\n",
        sse([{}]),
        sse({ candidates: [{ content: { parts: [{ text: 5 }] } }] }),
        `data: {"x":${"[".repeat(5_000)}${"]".repeat(5_000)}}\n\n`
      ]
      for (const event of damaged) {
        const { events, reason } = yield* broken({ chunks: packets(said("a"), event, last("b")) })
        assert.strictEqual(deltas(events)[0]?.delta.content, "a")
        assert.strictEqual(deltas(events).length, 1)
        assert.instanceOf(reason, Malformed)
      }
    })
  )

  it.effect("skips events that say nothing", () =>
    Effect.gen(function* () {
      const events = yield* collect({
        chunks: packets(said("a"), sse({ usageMetadata: {} }), ": ping\n\n", said(""), "data: [DONE]\n\n", last("b"))
      })
      assert.deepStrictEqual(
        deltas(events).map(({ delta }) => delta.content),
        ["a", "b", undefined]
      )
    })
  )

  it.effect("fails with an error event's reason, after what came before in the same packet", () =>
    Effect.gen(function* () {
      const error = sse({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } })
      const { events, reason } = yield* broken({ chunks: packets(said("a") + error) })
      assert.strictEqual(deltas(events)[0]?.delta.content, "a")
      assert.deepStrictEqual(reason, new ServerFault({ status: 503, retryAfterMs: null }))
    })
  )

  it.effect("fails when the model ended in a fault", () =>
    Effect.gen(function* () {
      const given = { chunks: packets(said("a"), said("", { finishReason: "MALFORMED_FUNCTION_CALL" })) }
      const { events, reason } = yield* broken(given)
      assert.strictEqual(deltas(events).length, 1)
      assert.deepStrictEqual(reason, new Malformed({ detail: "the model ended with MALFORMED_FUNCTION_CALL" }))
    })
  )

  it.effect("is cut when it ends or breaks before every candidate has finished", () =>
    Effect.gen(function* () {
      const { events, reason } = yield* broken({ chunks: packets(said("Hel"), 'data: {"candidates":[{"fin') })
      assert.strictEqual(deltas(events).length, 1)
      assert.instanceOf(reason, Cut)
      assert.instanceOf((yield* broken({ chunks: [] })).reason, Cut)
      const failure = new TimedOut({ phase: "idle" })
      assert.strictEqual((yield* broken({ chunks: packets(said("a")), failure })).reason, failure)
      assert.strictEqual((yield* broken({ chunks: packets(last("a")), failure }, { n: 2 })).reason, failure)
    })
  )

  it.effect("is whole when the connection broke after the last candidate finished", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: packets(last("a")), failure: new Cut({ detail: "ECONNRESET" }) })
      assert.deepStrictEqual(events.at(-1), end(null))
    })
  )

  it.effect("asks for server-sent events, and streams a whole reply that came instead", () =>
    Effect.gen(function* () {
      const paths: Array<string> = []
      const onSend = (path: string) => void paths.push(path)
      const given = { chunks: [fixture("gemini-tools.json")], type: "application/json", onSend }
      const events = yield* collect(given)
      assert.deepStrictEqual(
        deltas(events)[0]?.delta.tool_calls?.map(({ id, index }) => [index, id]),
        [
          [0, "call_8VDyaJ_0"],
          [1, "call_8VDyaJ_1"],
          [2, "t0qhw5fh"]
        ]
      )
      assert.deepStrictEqual(paths, ["/models/small-2026:streamGenerateContent?alt=sse"])
      const html = yield* broken({ chunks: packets("<html>"), type: "text/html" })
      assert.deepStrictEqual(html.reason, new Malformed({ detail: "HTML" }))
    })
  )
})
