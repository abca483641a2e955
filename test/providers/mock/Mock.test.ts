import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ChatEvent, type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeMock } from "../../../src/providers/mock/Mock.ts"
import { mockProvider } from "../../../src/providers/presets/Mock.ts"
import {
  Cut,
  Malformed,
  type ProviderReason,
  Rejected,
  ServerFault,
  Throttled,
  TimedOut,
  Unsupported
} from "../../../src/providers/Provider.ts"

const mock = makeMock(mockProvider)
const offerOf = (id: string) => {
  const offer = mockProvider.models.find((model) => model.id === id)
  assert.isDefined(offer)
  return offer
}
const ask = (text: string, rest: Partial<ChatRequest> = {}, model = "mock/echo") => ({
  request: { model, messages: [{ role: "user" as const, content: text }], stream: false, ...rest },
  offer: offerOf(model)
})
const directed = (directives: object, text = "one two three four five") => ask(text, { metadata: { mock: directives } })
const collect = (call: ReturnType<typeof ask>) =>
  Effect.scoped(Effect.flatMap(mock.chatStream(call), (events) => Stream.runCollect(events.stream)))
const pieces = (events: ReadonlyArray<ChatEvent>, index = 0) =>
  events.flatMap((event) => (event._tag === "Choices" ? [event.choices[index]?.delta.content ?? ""] : []))
/** The pieces before the failure, and its reason. */
const broken = Effect.fnUntraced(function* (call: ReturnType<typeof ask>) {
  const events: Array<ChatEvent> = []
  const error = yield* Effect.flip(
    Effect.scoped(
      Effect.flatMap(mock.chatStream(call), (sent) =>
        Stream.runForEach(sent.stream, (event) => Effect.sync(() => void events.push(event)))
      )
    )
  )
  return { pieces: pieces(events), reason: error.reason }
})

describe("mock/echo and mock/lorem", () => {
  it.effect("echo says the last user message, streamed word by word, the same every time", () =>
    Effect.gen(function* () {
      const text = "Hello,  wörld!\nHow are you? "
      const reply = yield* mock.chat(ask(text))
      assert.strictEqual(reply.choices[0]?.message.content, text)
      assert.strictEqual(reply.choices[0]?.finish_reason, "stop")
      const events = yield* collect(ask(text))
      assert.deepStrictEqual(pieces(events), ["Hello,", "  wörld!", "\nHow", " are", " you?", " ", ""])
      assert.deepStrictEqual(events.at(-1), { _tag: "End", usage: reply.usage, systemFingerprint: "mock" })
      assert.deepStrictEqual(yield* collect(ask(text)), events)
      const [first] = events
      assert.nestedPropertyVal(first, "choices[0].delta.role", "assistant")
      assert.isAbove(reply.usage?.promptTokens ?? 0, 6)
    })
  )

  it.effect("echo reads parts, and goes on from an assistant's beginning", () =>
    Effect.gen(function* () {
      const parts = yield* mock.chat(
        ask("", { messages: [{ role: "user", content: [{ type: "text", text: "in parts" }] }] })
      )
      assert.strictEqual(parts.choices[0]?.message.content, "in parts")
      const going = yield* mock.chat(
        ask("", {
          messages: [
            { role: "user", content: "one two three" },
            { role: "assistant", content: "one two" }
          ]
        })
      )
      assert.strictEqual(going.choices[0]?.message.content, " three")
    })
  )

  it.effect("lorem writes as many words, and tokens, as the limit says; 64 without one", () =>
    Effect.gen(function* () {
      for (const [limit, words] of [
        [{}, 64],
        [{ max_tokens: 7 }, 7],
        [{ max_completion_tokens: 200 }, 200]
      ] as const) {
        const reply = yield* mock.chat(ask("x", limit, "mock/lorem"))
        assert.strictEqual(reply.choices[0]?.message.content?.split(" ").length, words)
        assert.strictEqual(reply.usage?.completionTokens, words)
        assert.strictEqual(reply.choices[0]?.finish_reason, words === 64 ? "stop" : "length")
      }
    })
  )

  it.effect("honours the limit, stop and n", () =>
    Effect.gen(function* () {
      const cut = yield* mock.chat(ask("one two three four", { max_tokens: 2, n: 2 }))
      assert.deepStrictEqual(
        cut.choices.map(({ finish_reason, index, message }) => [index, message.content, finish_reason]),
        [
          [0, "one two", "length"],
          [1, "one two", "length"]
        ]
      )
      assert.strictEqual(cut.usage?.completionTokens, 4)
      const stopped = yield* mock.chat(ask("one two three four", { stop: ["four", " three"] }))
      assert.strictEqual(stopped.choices[0]?.message.content, "one two")
      assert.strictEqual(stopped.choices[0]?.finish_reason, "stop")
      assert.deepStrictEqual(pieces(yield* collect(ask("a b", { n: 2 })), 1), ["a", " b", ""])
    })
  )

  it.effect("counts a megabyte of blanks and a special token without trouble", () =>
    Effect.gen(function* () {
      const reply = yield* mock.chat(ask(`<|endoftext|>${" ".repeat(1_000_000)}`, { max_tokens: 3 }))
      assert.isAbove(reply.usage?.promptTokens ?? 0, 1_000)
    })
  )

  it.effect("waits its latency, then keeps its pace", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const call = directed({ latency_ms: 500, tokens_per_second: 10 }, "one two three")
      const fiber = yield* Effect.forkChild(
        Effect.scoped(
          Effect.flatMap(mock.chatStream(call), (events) =>
            Stream.runForEach(events.stream, (event) => Effect.sync(() => seen.push(...pieces([event]))))
          )
        )
      )
      // The tokenizer is loaded once, by a real import. Everything after it runs on the test's
      // clock.
      yield* mock.chat(ask("load"))
      yield* TestClock.adjust(499)
      assert.deepStrictEqual(seen, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(seen, ["one"])
      yield* TestClock.adjust(99)
      assert.deepStrictEqual(seen, ["one"])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(seen, ["one", " two"])
      yield* TestClock.adjust(100)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["one", " two", " three", ""])
    })
  )

  it.effect("fails as told, at once or after so many tokens, whole replies too", () =>
    Effect.gen(function* () {
      const rows: ReadonlyArray<readonly [object, ReadonlyArray<string>, ProviderReason]> = [
        [{ fail: 429 }, [], new Throttled({ status: 429, retryAfterMs: 1_000 })],
        [{ fail: "500" }, [], new ServerFault({ status: 500, retryAfterMs: null })],
        [{ fail: "malformed" }, [], new Malformed({ detail: "asked for by metadata.mock" })],
        [{ fail: "cut" }, ["one", " two", " three"], new Cut({ detail: "asked for by metadata.mock" })],
        [{ fail: "cut", after_tokens: 0 }, [], new Cut({ detail: "asked for by metadata.mock" })],
        [{ fail: 500, after_tokens: 2 }, ["one", " two"], new ServerFault({ status: 500, retryAfterMs: null })],
        [
          { fail: "cut", after_tokens: 99 },
          ["one", " two", " three", " four", " five"],
          new Cut({ detail: "asked for by metadata.mock" })
        ]
      ]
      for (const [directives, expected, reason] of rows) {
        assert.deepStrictEqual(yield* broken(directed(directives)), { pieces: expected, reason })
        assert.deepStrictEqual((yield* Effect.flip(mock.chat(directed(directives)))).reason, reason)
      }
    })
  )

  it.effect("times out as its config says", () =>
    Effect.gen(function* () {
      yield* mock.chat(ask("load"))
      const rows: ReadonlyArray<readonly [object, number, { pieces: Array<string>; reason: ProviderReason }]> = [
        [{ fail: "timeout" }, 10_000, { pieces: [], reason: new TimedOut({ phase: "first_token" }) }],
        [{ fail: "timeout", after_tokens: 1 }, 120_000, { pieces: ["one"], reason: new TimedOut({ phase: "idle" }) }]
      ]
      for (const [directives, millis, expected] of rows) {
        const fiber = yield* Effect.forkChild(broken(directed(directives)))
        yield* TestClock.adjust(millis - 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(fiber), expected)
      }
    })
  )

  it.effect("reports the usage that it is told to, beside the counted tokens", () =>
    Effect.gen(function* () {
      const usage = {
        cached_tokens: 1,
        cache_write_tokens: 2,
        cache_write_1h_tokens: 3,
        prompt_audio_tokens: 1,
        completion_audio_tokens: 1,
        web_search_requests: 4,
        service_tier: "priority"
      }
      const reply = yield* mock.chat(ask("one two", { metadata: { mock: { usage } } }))
      assert.deepInclude(reply.usage, {
        cachedTokens: 1,
        rare: { cache_write: 2, cache_write_1h: 3, prompt_audio: 1, completion_audio: 1, web_search: 4 },
        serviceTier: "priority"
      })
    })
  )

  it.effect("refuses directives that it does not understand, and models that do not chat", () =>
    Effect.gen(function* () {
      for (const directives of [
        { fail: "explode" },
        { latency_ms: "1" },
        { after_tokens: -1 },
        { usage: { cached_tokens: -1 } },
        { tokens_per_second: 0 },
        "fail"
      ]) {
        const error = yield* Effect.flip(mock.chat(ask("x", { metadata: { mock: directives } })))
        assert.instanceOf(error.reason, Rejected)
        if (error.reason._tag === "Rejected") assert.strictEqual(error.reason.param, "metadata.mock")
      }
      const error = yield* Effect.flip(mock.chat(ask("x", {}, "mock/embed")))
      assert.instanceOf(error.reason, Unsupported)
    })
  )
})

describe("the largest requests", () => {
  it.effect("an echo ends, and its prompt is counted in proportion", () =>
    Effect.gen(function* () {
      const { choices, usage } = yield* mock.chat(ask("word ".repeat(4_000_000), { n: 128 }))
      assert.lengthOf(choices, 128)
      assert.isAtMost(choices[0]?.message.content?.length ?? 0, 131_072)
      assert.strictEqual(choices[0]?.finish_reason, "length")
      assert.approximately(usage?.promptTokens ?? 0, 4_000_000, 100_000)
    })
  )

  it.effect("a text of blanks alone is cut too", () =>
    Effect.gen(function* () {
      const { choices } = yield* mock.chat(ask(" ".repeat(4_000_000)))
      assert.isAtMost(choices[0]?.message.content?.length ?? 0, 131_072)
      assert.strictEqual(choices[0]?.finish_reason, "length")
    })
  )
})

describe("mock/embed", () => {
  const embed = (input: string | ReadonlyArray<string>, dimensions?: number) =>
    mock.embed({
      request: { model: "mock/embed", input, ...(dimensions === undefined ? {} : { dimensions }) },
      offer: offerOf("mock/embed")
    })

  it.effect("makes unit vectors that depend on the text alone", () =>
    Effect.gen(function* () {
      const { usage, vectors } = yield* embed(["cat", "dog", "cat"])
      assert.deepStrictEqual(
        vectors.map((vector) => vector.length),
        [256, 256, 256]
      )
      assert.deepStrictEqual(vectors[0], vectors[2])
      assert.notDeepEqual(vectors[0], vectors[1])
      for (const vector of vectors) {
        assert.approximately(Math.hypot(...vector), 1, 1e-6)
        assert.deepStrictEqual([...Float32Array.from(vector)], vector)
      }
      assert.deepStrictEqual(usage, { promptTokens: 3, completionTokens: 0, cachedTokens: 0 })
    })
  )

  it.effect("makes no more numbers than memory holds", () =>
    Effect.gen(function* () {
      for (const [input, dimensions, param] of [
        ["a", 16_385, "dimensions"],
        ["a", 200_000_000, "dimensions"],
        [Array.from({ length: 8_193 }, () => "a"), undefined, "input"],
        [Array.from({ length: 129 }, () => "a"), 16_384, "input"]
      ] as const) {
        const { reason } = yield* Effect.flip(embed(input, dimensions))
        assert.instanceOf(reason, Rejected)
        if (reason._tag === "Rejected") assert.strictEqual(reason.param, param)
      }
      assert.strictEqual((yield* embed("a", 16_384)).vectors[0]?.length, 16_384)
    })
  )

  it.effect("honours dimensions, and does not chat", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* embed("cat", 3)).vectors[0]?.length, 3)
      const error = yield* Effect.flip(
        mock.embed({ request: { model: "mock/echo", input: "x" }, offer: offerOf("mock/echo") })
      )
      assert.instanceOf(error.reason, Unsupported)
    })
  )
})
