import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type ChatEvent, type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import { Cut, Malformed, ServerFault, Throttled, TimedOut, TooLarge } from "../../../src/providers/Provider.ts"
import { chunkBody, DONE, sse, streamChunks, usageChunkBody } from "../../support/upstream/Bodies.ts"
import { config, fixture, offer, replay, type Replay } from "../replayedTransport.ts"

const request = (n?: number): ChatRequest => ({
  model: "test/small",
  messages: [{ role: "user", content: "hi" }],
  stream: true,
  ...(n === undefined ? {} : { n })
})

const open = (given: Replay, n?: number) =>
  makeOpenAi(config(), replay(given)).chatStream({ request: request(n), offer })

const collect = (given: Replay, n?: number) =>
  Effect.scoped(Effect.flatMap(open(given, n), (events) => Stream.runCollect(events.stream)))

/** The events before the failure, and the failure. */
const broken = Effect.fnUntraced(function* (given: Replay, n?: number) {
  const events: Array<ChatEvent> = []
  const error = yield* Effect.flip(
    Effect.scoped(
      Effect.flatMap(open(given, n), (stream) =>
        Stream.runForEach(stream.stream, (event) => Effect.sync(() => void events.push(event)))
      )
    )
  )
  assert.strictEqual(error.provider, "alpha")
  return { events, reason: error.reason }
})

const text = (...events: ReadonlyArray<string>): ReadonlyArray<Buffer> => events.map((event) => Buffer.from(event))
const deltas = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap((event) =>
    event._tag === "Choices"
      ? event.choices.map(({ delta, finish_reason, index }) => ({ index, delta, finish_reason }))
      : []
  )
const ends = (events: ReadonlyArray<ChatEvent>) => events.filter((event) => event._tag === "End")
const content = (events: ReadonlyArray<ChatEvent>) =>
  deltas(events)
    .map(({ delta }) => delta.content ?? "")
    .join("")
/** The end, without the members of usage that the gateway does not know. */
const lastOf = (events: ReadonlyArray<ChatEvent>): ChatEvent | undefined => {
  const last = events.at(-1)
  if (last?._tag !== "End") return last
  const { usageExtra: _, ...rest } = last
  return rest
}

const end = (
  usage: { promptTokens: number; completionTokens: number; cachedTokens: number } | null,
  systemFingerprint: string | null = "fp_44709d6fcb"
): ChatEvent => ({
  _tag: "End",
  usage,
  systemFingerprint
})

describe("OpenAI streams", () => {
  it.effect.each([
    "stream-text.sse",
    "stream-text-crlf-bom.sse",
    "stream-tools.sse",
    "stream-logprobs-two-choices.sse",
    "stream-reasoning.sse",
    "stream-refusal.sse"
  ])(
    "%s reads the same cut at every byte boundary",
    Effect.fnUntraced(function* (name: string) {
      const bytes = fixture(name)
      const n = name.includes("two-choices") ? 2 : 1
      const whole = yield* collect({ chunks: [bytes] }, n)
      assert.strictEqual(ends(whole).length, 1)
      assert.strictEqual(whole.at(-1)?._tag, "End")
      for (let at = 1; at < bytes.length; at++) {
        const cut = yield* collect({ chunks: [bytes.subarray(0, at), bytes.subarray(at)] }, n)
        assert.deepStrictEqual(cut, whole, `cut at ${at}`)
      }
      assert.deepStrictEqual(yield* collect({ chunks: Array.from(bytes, (byte) => Buffer.of(byte)) }, n), whole)
    })
  )

  it.effect("reads text and usage", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("stream-text.sse")] })
      assert.strictEqual(content(events), "Grüße aus 東京 🗼")
      assert.deepStrictEqual(deltas(events)[0], {
        index: 0,
        delta: { role: "assistant", content: "", refusal: null },
        finish_reason: null
      })
      assert.deepStrictEqual(deltas(events).at(-1), { index: 0, delta: {}, finish_reason: "stop" })
      assert.deepStrictEqual(lastOf(events), end({ promptTokens: 19, completionTokens: 10, cachedTokens: 8 }))
    })
  )

  it.effect("passes every text on as it was sent, with text after the finish reason", () =>
    Effect.gen(function* () {
      const texts = [
        "hi",
        " there",
        "größer",
        "日本",
        "🙂",
        'say "no"',
        "a\nb",
        "\\",
        "\u2028",
        "\u0001",
        ",",
        "{}",
        "x".repeat(9_000)
      ]
      const said = [
        ...texts.map((one) => chunkBody({ content: one })),
        chunkBody({}, "stop"),
        chunkBody({ content: "after" })
      ]
      const chunks = [...said, usageChunkBody({ prompt_tokens: 1, completion_tokens: 16 })]
      const events = yield* collect({ chunks: text(...chunks.map((one) => sse(one)), DONE) })
      assert.strictEqual(content(events), `${texts.join("")}after`)
      assert.strictEqual(deltas(events).at(-1)?.finish_reason, "stop")
    })
  )

  it.effect("keeps parallel tool calls apart", () =>
    Effect.gen(function* () {
      const calls = new Map<number, string>()
      const events = yield* collect({ chunks: [fixture("stream-tools.sse")] })
      for (const { delta } of deltas(events)) {
        for (const call of delta.tool_calls ?? []) {
          calls.set(call.index, (calls.get(call.index) ?? "") + (call.function?.arguments ?? ""))
        }
      }
      assert.deepStrictEqual(
        [...calls],
        [
          [0, '{"location": "Paris"}'],
          [1, '{"location": "Bogotá"}']
        ]
      )
    })
  )

  it.effect("numbers the tool calls of a vendor that does not", () =>
    Effect.gen(function* () {
      const call = (id: string | undefined, piece: string) =>
        sse(chunkBody({ tool_calls: [{ ...(id === undefined ? {} : { id }), function: { arguments: piece } }] }))
      const events = yield* collect({
        chunks: text(
          call("a", "1"),
          call(undefined, "2"),
          call("b", "3"),
          call("a", "4"),
          call(undefined, "5"),
          sse(chunkBody({}, "tool_calls")),
          DONE
        )
      })
      const indexes = deltas(events).flatMap(({ delta }) => delta.tool_calls?.map(({ index }) => index) ?? [])
      assert.deepStrictEqual(indexes, [0, 0, 1, 0, 1])
    })
  )

  it.effect("passes logprobs of several choices on", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("stream-logprobs-two-choices.sse")] }, 2)
      const [said] = events.flatMap((event) =>
        event._tag === "Choices" ? event.choices.filter(({ delta }) => delta.content === "Yes") : []
      )
      assert.propertyVal(said, "index", 0)
      assert.nestedProperty(said, "logprobs.content[0].top_logprobs[1].token")
      assert.deepStrictEqual(
        deltas(events).flatMap(({ finish_reason, index }) => (finish_reason === null ? [] : [[index, finish_reason]])),
        [
          [0, "stop"],
          [1, "length"]
        ]
      )
      assert.deepStrictEqual(lastOf(events), end({ promptTokens: 12, completionTokens: 2, cachedTokens: 0 }))
    })
  )

  it.effect("maps reasoning_content, drops repeated roles, takes usage beside choices", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("stream-reasoning.sse")] })
      assert.deepStrictEqual(deltas(events), [
        { index: 0, delta: { content: null, role: "assistant", reasoning: "" }, finish_reason: null },
        { index: 0, delta: { content: null, reasoning: "9.11 < 9.8" }, finish_reason: null },
        { index: 0, delta: { content: "9.8" }, finish_reason: null },
        { index: 0, delta: { content: "" }, finish_reason: "stop" }
      ])
      assert.deepStrictEqual(
        lastOf(events),
        end({ promptTokens: 17, completionTokens: 9, cachedTokens: 16 }, "fp_a49d71b8a1")
      )
    })
  )

  it.effect("reads a refusal out of data over several lines", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("stream-refusal.sse")] })
      assert.deepStrictEqual(
        deltas(events).map(({ delta }) => delta.refusal),
        ["", "I'm sorry", undefined]
      )
      assert.deepStrictEqual(lastOf(events), end({ promptTokens: 7, completionTokens: 3, cachedTokens: 0 }))
    })
  )

  it.effect("lets a choice finish once and keeps an explicit zero usage", () =>
    Effect.gen(function* () {
      const finish = sse(chunkBody({}, "stop"))
      const events = yield* collect({
        chunks: text(
          sse(chunkBody({ content: "x" })),
          finish,
          finish,
          sse(usageChunkBody({ prompt_tokens: 0, completion_tokens: 0 })),
          DONE,
          finish
        )
      })
      assert.deepStrictEqual(
        deltas(events).map(({ finish_reason }) => finish_reason),
        [null, "stop"]
      )
      assert.deepStrictEqual(lastOf(events), end({ promptTokens: 0, completionTokens: 0, cachedTokens: 0 }))
    })
  )

  const damaged: Readonly<Record<string, string>> = {
    "half a chunk": `data: {"choices":[{"delta":{"content":"x\n\n`,
    "no JSON": "data: nonsense\n\n",
    "JSON that is no object": "data: [1]\n\n",
    "content that is a number": sse(chunkBody({ content: 5 })),
    "content that is an object": sse(chunkBody({ content: { say: "x" } })),
    "a chunk nested 5,000 deep": `data: {"choices":[{"delta":{"x":${"[".repeat(5_000)}${"]".repeat(5_000)}}}]}\n\n`
  }
  it.effect.each(Object.entries(damaged))("breaks at %s, after what it said", ([, event]) =>
    Effect.gen(function* () {
      const chunks = text(...streamChunks(["a"]).slice(0, 2), event, sse(chunkBody({ content: "b" }, "stop")), DONE)
      const { events, reason } = yield* broken({ chunks })
      assert.strictEqual(content(events), "a")
      assert.strictEqual(ends(events).length, 0)
      assert.instanceOf(reason, Malformed)
    })
  )

  it.effect("is whole when what cannot be read comes after the last finish reason", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: text(...streamChunks(["a"]).slice(0, 3), "data: {oops\n\n", DONE) })
      assert.strictEqual(content(events), "a")
      assert.deepStrictEqual(lastOf(events), end(null))
    })
  )

  it.effect("takes empty data for a sign of life", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: text("data:\n\n", "data: \n\n", ...streamChunks(["a"])) })
      assert.strictEqual(content(events), "a")
    })
  )

  const errors: Readonly<Record<string, string>> = {
    "plain text": "event: error\ndata: upstream aborted\n\n",
    "an object of its own form": 'event: error\ndata: {"message":"upstream aborted"}\n\n',
    "an error object": 'event: error\ndata: {"error":{"message":"upstream aborted"}}\n\n'
  }
  it.effect.each(Object.entries(errors))("hears an error by the event's name: %s, however it is cut", ([, event]) =>
    Effect.gen(function* () {
      const bytes = Buffer.from([sse(chunkBody({ content: "a" })), event, DONE].join(""))
      for (let at = 0; at <= bytes.length; at++) {
        const { events, reason } = yield* broken({ chunks: [bytes.subarray(0, at), bytes.subarray(at)] })
        assert.strictEqual(content(events), "a")
        assert.deepStrictEqual(reason, new ServerFault({ status: 500, retryAfterMs: null }))
      }
    })
  )

  const failing: Readonly<Record<string, object>> = {
    "its finish reason": { finish_reason: "error" },
    "an error object": { error: { code: 502, message: "Provider disconnected" }, finish_reason: null },
    both: { error: { code: 502, message: "Provider disconnected" }, finish_reason: "error" }
  }
  it.effect.each(Object.entries(failing))("hears a failure inside a choice by %s", ([, members]) =>
    Effect.gen(function* () {
      const choice = { ...chunkBody({}), choices: [{ index: 0, delta: { content: "" }, ...members }] }
      const { events, reason } = yield* broken({ chunks: text(sse(chunkBody({ content: "a" })), sse(choice), DONE) })
      assert.strictEqual(content(events), "a")
      assert.strictEqual(reason._tag, "ServerFault")
    })
  )

  const shapes: Readonly<Record<string, object>> = {
    "a whole reply": { message: { role: "assistant", content: "hi" } },
    "a message beside an empty delta": { delta: {}, message: { role: "assistant", content: "hi" } },
    "a bare text": { text: "hi" }
  }
  it.effect.each(Object.entries(shapes))("reads %s as the only chunk", ([, shape]) =>
    Effect.gen(function* () {
      const only = sse({ choices: [{ index: 0, ...shape, finish_reason: "stop" }] })
      const events = yield* collect({ chunks: text(only, DONE) })
      assert.strictEqual(content(events), "hi")
      assert.deepStrictEqual(deltas(events).at(-1)?.finish_reason, "stop")
    })
  )

  it.effect("leaves out a message beside a delta that says the same", () =>
    Effect.gen(function* () {
      const chunk = (delta: object, message: object | null) =>
        sse({ choices: [{ index: 0, delta, message, finish_reason: null }] })
      const chunks = text(
        chunk({ content: "a" }, { content: "a" }),
        chunk({ content: "b" }, null),
        chunk({}, { content: "ab" }),
        sse(chunkBody({}, "stop")),
        DONE
      )
      const events = yield* collect({ chunks })
      assert.strictEqual(content(events), "ab")
      assert.notInclude(JSON.stringify(events), "message")
    })
  )

  it.effect("is no answer without a word where the provider counts words", () =>
    Effect.gen(function* () {
      const silent = (usage: object) =>
        text(sse(chunkBody({ role: "assistant", content: "" })), sse(chunkBody({}, "stop")), sse(usage), DONE)
      const { events, reason } = yield* broken({ chunks: silent(usageChunkBody({ completion_tokens: 12 })) })
      assert.strictEqual(content(events), "")
      assert.instanceOf(reason, Malformed)
      // A model that ends its turn at once, and one that only produced reasoning.
      yield* collect({ chunks: silent(usageChunkBody({ completion_tokens: 2 })) })
      const thought = { completion_tokens_details: { reasoning_tokens: 12 } }
      const usage = { prompt_tokens: 9, completion_tokens: 12, ...thought }
      yield* collect({ chunks: silent({ choices: [], usage }) })
    })
  )

  it.effect.each([
    ["sound", { audio: { id: "a", data: "AAAA" } }],
    ["a thought that nobody may read", { reasoning_details: [{ type: "reasoning.encrypted", data: "x" }] }],
    ["a picture", { images: [{ type: "image_url", image_url: { url: "data:," } }] }]
  ] as ReadonlyArray<readonly [string, object]>)("is an answer with %s and no text", ([, delta]) =>
    Effect.gen(function* () {
      const usage = sse(usageChunkBody({ completion_tokens: 12 }))
      const chunks = text(sse(chunkBody({ ...delta })), sse(chunkBody({}, "stop")), usage, DONE)
      assert.strictEqual(deltas(yield* collect({ chunks })).at(-1)?.finish_reason, "stop")
    })
  )

  it.effect("is no answer where [DONE] leaves one of two choices open", () =>
    Effect.gen(function* () {
      const chunks = text(sse(chunkBody({ content: "a" }, "stop")), sse(chunkBody({ content: "b" }, null, 1)), DONE)
      assert.instanceOf((yield* broken({ chunks }, 2)).reason, Malformed)
    })
  )

  it.effect("ends without [DONE] once every choice seen is finished", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: text(...streamChunks(["a"]).slice(0, -1)) })
      assert.deepStrictEqual(lastOf(events), end({ promptTokens: 9, completionTokens: 5, cachedTokens: 0 }))
    })
  )

  it.effect("gives a choice that [DONE] left open the reason stop", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: text(sse(chunkBody({ content: "a" })), DONE) })
      assert.deepStrictEqual(deltas(events).at(-1), { index: 0, delta: {}, finish_reason: "stop" })
      assert.strictEqual(events.at(-1)?._tag, "End")
    })
  )

  it.effect("is cut when it ends before its terminator, after what it said", () =>
    Effect.gen(function* () {
      const { events, reason } = yield* broken({
        chunks: text(sse(chunkBody({ content: "Hel" })), 'data: {"choices":[{"ind')
      })
      assert.strictEqual(content(events), "Hel")
      assert.strictEqual(ends(events).length, 0)
      assert.instanceOf(reason, Cut)
    })
  )

  it.effect("is whole when only usage and terminator were lost, and broken when a choice was", () =>
    Effect.gen(function* () {
      const chunks = text(sse(chunkBody({ content: "a" }, "stop")))
      const failure = new Cut({ detail: "ECONNRESET" })
      assert.deepStrictEqual(lastOf(yield* collect({ chunks, failure })), end(null))
      assert.strictEqual((yield* broken({ chunks, failure }, 2)).reason, failure)
      const timeout = new TimedOut({ phase: "idle" })
      assert.strictEqual(
        (yield* broken({ chunks: text(sse(chunkBody({ content: "a" }))), failure: timeout })).reason,
        timeout
      )
    })
  )

  it.effect("fails with an error event's reason, after what came before in the same packet", () =>
    Effect.gen(function* () {
      const error = sse({ error: { message: "slow down", type: "rate_limit_error", code: "rate_limit_exceeded" } })
      const { events, reason } = yield* broken({ chunks: text(sse(chunkBody({ content: "a" })) + error) })
      assert.strictEqual(content(events), "a")
      assert.instanceOf(reason, Throttled)
      const other = yield* broken({ chunks: text(sse({ error: { message: "oops", code: 502 } })) })
      assert.deepStrictEqual(other.reason, new ServerFault({ status: 502, retryAfterMs: null }))
    })
  )

  it.effect("refuses an empty stream, HTML, and an event above 1 MiB", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        (yield* broken({ chunks: text(DONE) })).reason,
        new Malformed({ detail: "empty completion" })
      )
      assert.instanceOf((yield* broken({ chunks: [] })).reason, Cut)
      assert.deepStrictEqual(
        (yield* broken({ chunks: text("<html>"), type: "text/html" })).reason,
        new Malformed({ detail: "HTML" })
      )
      const large = sse(chunkBody({ content: "x".repeat(1024 * 1024) }))
      assert.instanceOf((yield* broken({ chunks: text(large) })).reason, TooLarge)
    })
  )

  it.effect("streams a whole reply that came instead of a stream", () =>
    Effect.gen(function* () {
      const events = yield* collect({ chunks: [fixture("chat-tools.json")], type: "application/json" })
      const calls = deltas(events)[0]?.delta.tool_calls
      assert.deepStrictEqual(
        calls?.map(({ id, index }) => [index, id]),
        [
          [0, "call_abc"],
          [1, "call_def"]
        ]
      )
      assert.deepStrictEqual(lastOf(events), end({ promptTokens: 82, completionTokens: 17, cachedTokens: 0 }, null))
    })
  )
})
