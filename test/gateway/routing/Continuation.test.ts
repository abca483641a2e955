/**
 * A stream that breaks off and is continued by another provider: the client's text, the calls, the
 * charges and the receipt.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ChatEvent, type ChatRequest } from "../../../src/domain/Chat.ts"
import { Cut, Malformed, Rejected } from "../../../src/providers/Provider.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { defaultSettings } from "../../../src/Settings.ts"
import { ending, type Heard, piece, stop, broken } from "../scripts.ts"
import { type Asked, begun, gatewayOn, recordOf, streamed } from "../streams.ts"

const messagesOf = (heard: Heard, call: number): ChatRequest["messages"] => {
  const request = heard.requests[call]
  return request !== undefined && "messages" in request ? (request as ChatRequest).messages : []
}

const cut = new Cut({ detail: "reset" })
const cutAfter = (...pieces: ReadonlyArray<string>): Script => ({ events: [...pieces.map(piece), cut] })
const going = (...pieces: ReadonlyArray<string>): Script => ({ events: [...pieces.map(piece), stop, ending()] })

it.effect("the partial text is continued as one answer, and each part is charged at its provider's prices", () => {
  const { heard, layer } = gatewayOn({ alpha: cutAfter("one two", " three"), beta: going(" four", " five") })
  return Effect.gen(function* () {
    const { head, record, tags, text, usage } = yield* streamed()
    assert.strictEqual(text, "one two three four five")
    assert.notInclude(tags, "Failed")
    assert.strictEqual(head.provider, "alpha")
    assert.deepStrictEqual(heard.calls, ["alpha", "beta"])
    assert.deepStrictEqual(heard.requests[1]?.["messages"], [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "one two three" }
    ])
    // Alpha: 7 prompt and 3 output tokens, counted. Beta: 10 and 5, reported.
    assert.deepInclude(usage, {
      prompt_tokens: 17,
      completion_tokens: 8,
      total_tokens: 25,
      estimated_cost_usd: 0.000053
    })
    assert.deepStrictEqual(record.cost.billedNano, 7_000 + 6_000 + 20_000 + 20_000)
    assert.deepInclude(record, {
      provider: "beta",
      fallbackUsed: true,
      finishReason: "stop",
      errorType: null,
      usageSource: "counted",
      price: { prompt: 2_000_000, completion: 4_000_000, cachedPrompt: null }
    })
    assert.deepStrictEqual(
      record.attempts.map(({ charge, errorType, provider, status }) => [
        provider,
        status,
        errorType,
        charge?.totalNano
      ]),
      [
        ["alpha", "error", "stream_cut", 13_000],
        ["beta", "ok", null, undefined]
      ]
    )
  }).pipe(Effect.provide(layer))
})

it.effect("without reported usage, the text so far counts as prompt and only the added text as output", () => {
  const { layer } = gatewayOn({
    alpha: cutAfter("one two three"),
    beta: { events: [piece(" four five"), stop, ending(null)] }
  })
  return Effect.gen(function* () {
    const { usage } = yield* streamed()
    assert.deepInclude(usage, { prompt_tokens: 7 + 10, completion_tokens: 3 + 2 })
  }).pipe(Effect.provide(layer))
})

it.effect("the thoughts of the call that broke stay as they are; those of the next call are not joined to them", () => {
  const thought = (members: object): ChatEvent => ({
    _tag: "Choices",
    choices: [
      {
        index: 0,
        delta: { reasoning_details: [{ type: "reasoning.text", index: 0, ...members }] },
        finish_reason: null
      }
    ]
  })
  const { layer } = gatewayOn({
    alpha: { events: [thought({ text: "Hm." }), thought({ signature: "A" }), piece("one two three"), cut] },
    beta: { events: [thought({ text: "So." }), thought({ signature: "B" }), piece(" four"), stop, ending()] }
  })
  return Effect.gen(function* () {
    const { events, text } = yield* streamed()
    assert.strictEqual(text, "one two three four")
    const details = events.flatMap((event) =>
      event._tag === "Choices" ? event.choices.flatMap(({ delta }) => delta["reasoning_details"] ?? []) : []
    )
    assert.deepStrictEqual<unknown>(details, [
      { type: "reasoning.text", index: 0, text: "Hm." },
      { type: "reasoning.text", index: 0, signature: "A" }
    ])
  }).pipe(Effect.provide(layer))
})

it.effect("a repeat of the text is removed; roles and whitespace are not doubled", () => {
  const role: ChatEvent = {
    _tag: "Choices",
    choices: [{ index: 0, delta: { role: "assistant" }, finish_reason: null }]
  }
  const { heard, layer } = gatewayOn({
    alpha: cutAfter("one two", " three "),
    beta: { events: [role, piece("one t"), piece("wo three"), piece(" four"), stop, ending()] }
  })
  return Effect.gen(function* () {
    assert.strictEqual((yield* streamed()).text, "one two three four")
    assert.deepInclude(messagesOf(heard, 1)[1], { content: "one two three" })
  }).pipe(Effect.provide(layer))
})

it.effect("a stream that goes silent is aborted and continued too", () => {
  const { heard, layer } = gatewayOn({ alpha: { events: [piece("one"), 180_000, ending()] }, beta: going(" two") })
  return Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(streamed(), { startImmediately: true })
    yield* TestClock.adjust(120_000)
    const { record, text } = yield* Fiber.join(fiber)
    assert.strictEqual(text, "one two")
    assert.deepInclude(record.attempts[0], { provider: "alpha", status: "timeout", errorType: "timeout" })
    assert.deepStrictEqual(heard.aborted, ["alpha"])
  }).pipe(Effect.provide(layer))
})

it.effect("if the second provider breaks off too, the next one gets all the text so far", () => {
  const { heard, layer } = gatewayOn({
    alpha: cutAfter("one"),
    beta: { events: [piece(" two"), new Malformed({ detail: "x" })] },
    gamma: going(" three")
  })
  return Effect.gen(function* () {
    const { record, text, usage } = yield* streamed()
    assert.strictEqual(text, "one two three")
    assert.deepInclude(messagesOf(heard, 2)[1], { content: "one two" })
    assert.deepInclude(usage, { prompt_tokens: 7 + 8 + 10, completion_tokens: 1 + 1 + 5 })
    assert.strictEqual(record.cost.billedNano, 9_000 + 16_000 + 4_000 + 30_000 + 30_000)
    assert.deepStrictEqual(
      record.attempts.map(({ provider, status }) => [provider, status]),
      [
        ["alpha", "error"],
        ["beta", "error"],
        ["gamma", "ok"]
      ]
    )
  }).pipe(Effect.provide(layer))
})

it.effect(
  "providers that cannot continue are skipped; if all fail, the stream ends with its error and its own cost",
  () => {
    const failing: Script = broken
    const { heard, layer } = gatewayOn({ alpha: cutAfter("one two three"), beta: failing, gamma: failing })
    return Effect.gen(function* () {
      const { record, tags, text, usage } = yield* streamed()
      assert.strictEqual(text, "one two three")
      assert.deepStrictEqual(tags, ["Choices", "Failed", "Usage"])
      assert.deepStrictEqual(heard.calls, ["alpha", "beta", "gamma"])
      assert.deepInclude(usage, { prompt_tokens: 7, completion_tokens: 3 })
      assert.deepInclude(record, { provider: "alpha", finishReason: "error", errorType: "provider_error" })
      assert.deepStrictEqual(
        record.attempts.map(({ errorType, status }) => [status, errorType]),
        [
          ["error", "stream_cut"],
          ["error", "server_error"],
          ["error", "server_error"]
        ]
      )
    }).pipe(Effect.provide(layer))
  }
)

it.effect("a client that leaves during the continuation pays for both parts", () => {
  const { heard, layer } = gatewayOn({
    alpha: cutAfter("one two three"),
    beta: { events: [piece(" four"), 10_000, ending()] }
  })
  return Effect.gen(function* () {
    const scope = yield* Scope.make()
    const { events, metadata } = yield* Scope.provide(begun({}), scope)
    yield* Stream.runDrain(Stream.take(events.stream, 2))
    yield* Scope.close(scope, Exit.void)
    const record = yield* recordOf(metadata.generationId)
    assert.deepInclude(record, { cancelled: true, fallbackUsed: true, provider: "beta" })
    assert.deepInclude(record.usage, { promptTokens: 7 + 10, completionTokens: 3 + 1 })
    assert.strictEqual(record.cost.billedNano, 13_000 + 20_000 + 4_000)
    assert.deepStrictEqual(heard.aborted, ["beta"])
  }).pipe(Effect.provide(layer))
})

it.effect("the rest of the client's limit applies to the continuation; the client's own prefix is extended", () => {
  const { heard, layer } = gatewayOn({ alpha: cutAfter("one two three"), beta: going(" four") })
  return Effect.gen(function* () {
    const messages: ChatRequest["messages"] = [
      { role: "user", content: "Count." },
      { role: "assistant", content: "zero " }
    ]
    yield* streamed({ request: { max_tokens: 10, messages } })
    assert.strictEqual(heard.requests[1]?.["max_tokens"], 7)
    assert.deepStrictEqual(heard.requests[1]?.["messages"], [
      { role: "user", content: "Count." },
      { role: "assistant", content: "zero one two three" }
    ])
  }).pipe(Effect.provide(layer))
})

it.effect("the second prompt is reserved first; without budget the stream is not continued", () => {
  const scripts = { alpha: cutAfter("one two three"), beta: going(" four") }
  const capped = (monthlyBudgetNano: number) =>
    streamed({ key: { monthlyBudgetNano }, request: { max_tokens: 10 } }).pipe(Effect.provide(gatewayOn(scripts).layer))
  return Effect.gen(function* () {
    // Reserved at first: 7 prompt and 10 output tokens at beta's prices, 54,000. The second prompt
    // takes 20,000 more.
    const roomy = yield* capped(74_000)
    assert.strictEqual(roomy.text, "one two three four")
    const { extendedNano, reservedNano } = roomy.record.reservation
    assert.strictEqual(reservedNano + extendedNano, 74_000)
    const tight = yield* capped(73_999)
    assert.deepStrictEqual(tight.tags, ["Choices", "Failed", "Usage"])
  })
})

const call: ChatEvent = {
  _tag: "Choices",
  choices: [
    {
      index: 0,
      delta: { tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "{" } }] },
      finish_reason: null
    }
  ]
}
const rejected = new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })

it.effect.each<readonly [string, Script, Asked, { readonly prefill?: boolean; readonly off?: boolean }]>([
  ["the model does not continue a text", cutAfter("one"), {}, { prefill: false }],
  ["the setting is off", cutAfter("one"), {}, { off: true }],
  ["fallbacks are not allowed", cutAfter("one"), { request: { provider: { allow_fallbacks: false } } }, {}],
  ["several choices were asked for", cutAfter("one"), { request: { n: 2 } }, {}],
  ["log probabilities were asked for", cutAfter("one"), { request: { logprobs: true } }, {}],
  ["a format was asked for", cutAfter("{"), { request: { response_format: { type: "json_schema" } } }, {}],
  ["speech was asked for", cutAfter("one"), { request: { modalities: ["text", "audio"] } }, {}],
  ["a tool call has begun", { events: [piece("one"), call, cut] }, {}, {}],
  ["the answer was finished", { events: [piece("one"), stop, cut] }, {}, {}],
  [
    "there is no text yet",
    { events: [{ _tag: "Choices", choices: [{ index: 0, delta: { reasoning: "hm" }, finish_reason: null }] }, cut] },
    {},
    {}
  ],
  ["the provider refuses to go on", { events: [piece("one"), rejected] }, {}, {}],
  ["the client's limit is used up", cutAfter("one two three"), { request: { max_tokens: 3 } }, {}]
])("an explicit error, and no second call, where %s", ([, alpha, given, { off, prefill }]) => {
  const routing = { ...defaultSettings.routing, retries: 0, continueStreams: off !== true }
  const { heard, layer } = gatewayOn(
    { alpha, beta: going("more") },
    { ...(prefill === undefined ? {} : { prefill }), settings: { routing } }
  )
  return Effect.gen(function* () {
    const { record, tags } = yield* streamed(given)
    assert.deepStrictEqual(tags.slice(-2), ["Failed", "Usage"])
    assert.deepStrictEqual(heard.calls, ["alpha"])
    assert.deepInclude(record, { errorType: "provider_error", fallbackUsed: false })
  }).pipe(Effect.provide(layer))
})
