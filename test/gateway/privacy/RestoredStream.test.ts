/** Restores values in a stream, however it is cut. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { type ChoiceDelta, type Delta } from "../../../src/domain/Chat.ts"
import { gatewayError, Overloaded } from "../../../src/domain/Errors.ts"
import { Batches } from "../../../src/domain/runtime/Batches.ts"
import { type CompletionEvent } from "../../../src/gateway/request/Answer.ts"
import { joinedMember } from "../../../src/gateway/reply/DeltaMembers.ts"
import { restoredStream } from "../../../src/gateway/privacy/restoring/RestoredStream.ts"
import { makeRestorer } from "../../../src/gateway/privacy/restoring/Restoring.ts"
import { PlaceholderMap } from "../../../src/gateway/privacy/PlaceholderMap.ts"

const placeholders = new PlaceholderMap()
placeholders.placeholder("email", "ann@x.com")
placeholders.placeholder("credit_card", "4111 1111 1111 1111")
placeholders.placeholder("secret", 'a "quoted"\nkey')
placeholders.rename("ask-US_SSN_1", "ask-123-45-6789")
const restorer = makeRestorer(placeholders)

const choices = (delta: Delta, finish: string | null = null, index = 0): CompletionEvent => ({
  _tag: "Choices",
  choices: [{ index, delta, finish_reason: finish }]
})
const usage: CompletionEvent = {
  _tag: "Usage",
  usage: {
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    estimated_cost_usd: 0,
    cached_tokens: 0,
    cache_discount_usd: 0,
    cache_hit: false,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 }
  }
}

const run = (events: ReadonlyArray<CompletionEvent>) =>
  Effect.map(Stream.runCollect(restoredStream(Batches.of(events), restorer).stream), (chunk) => Array.from(chunk))

const deltasOf = (events: ReadonlyArray<CompletionEvent>): ReadonlyArray<ChoiceDelta> =>
  events.flatMap((event) => (event._tag === "Choices" ? event.choices : []))

const joined = (
  events: ReadonlyArray<CompletionEvent>,
  member: "content" | "reasoning" | "reasoning_content" | "refusal",
  index = 0
) =>
  deltasOf(events)
    .filter((choice) => choice.index === index)
    .map(({ delta: { [member]: said } }) => (typeof said === "string" ? said : ""))
    .join("")

const masked =
  "Write to [EMAIL_1], or [email_1], \\[EMAIL\\_1\\]; pay by [CREDIT\\_CARD_1]. [EMAIL_2] [[EMAIL_1]] [E [EMAIL_ \\ [PHONE_1] arr[0] [EMAIL_1"
const open =
  "Write to ann@x.com, or ann@x.com, ann@x.com; pay by 4111 1111 1111 1111. [EMAIL_2] [ann@x.com] [E [EMAIL_ \\ [PHONE_1] arr[0] [EMAIL_1"

it.effect("a text is restored completely, cut anywhere, into single characters or not at all", () =>
  Effect.gen(function* () {
    for (const member of ["content", "reasoning", "reasoning_content", "refusal"] as const) {
      const cuts = Array.from({ length: masked.length + 1 }, (_, at) => [masked.slice(0, at), masked.slice(at)])
      for (const pieces of [...cuts, masked.split("")]) {
        const events = yield* run([...pieces.map((piece) => choices({ [member]: piece })), choices({}, "stop"), usage])
        assert.strictEqual(joined(events, member), open)
        assert.strictEqual(events.at(-1), usage)
        assert.lengthOf(
          deltasOf(events).filter((choice) => choice.finish_reason !== null),
          1
        )
      }
    }
  })
)

/**
 * Placeholders in all their forms, unknown ones, and texts that only look like the start of one.
 */
const pieces = [
  "[EMAIL_1] [email_1] \\[EMAIL\\_1\\] [CREDIT\\_CARD_1] [secret_1] [EMAIL_2] [PHONE_1] [EMAIL_1234567890]",
  "[ ] \\ _ 1 [E EMAIL [EMAIL_ [EMAIL_1 CARD_1] [SECRET a é東🗼"
]
  .join(" ")
  .split(" ")
  .concat(" ")
const Text = Schema.Array(Schema.Literals(pieces))
/** The lengths of the pieces in code units, over and over. */
const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })))

const cutInto = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
  const out: Array<string> = []
  for (let from = 0, nth = 0; from < text.length; nth++) {
    const to = from + (cuts[nth % cuts.length] ?? text.length)
    out.push(text.slice(from, to))
    from = to
  }
  return out
}

it.effect.prop(
  "any text in pieces of any size is restored as the whole text is",
  { pieces: Text, cuts: Cuts },
  ({ cuts, pieces }) =>
    Effect.gen(function* () {
      const text = pieces.join("")
      const contents = cutInto(text, cuts).map((content) => choices({ content }))
      const calls = cutInto(text, cuts).map((piece) =>
        choices({ tool_calls: [{ index: 0, function: { arguments: piece } }] })
      )
      const events = yield* run([...contents, ...calls, choices({}, "stop")])
      assert.strictEqual(joined(events, "content"), restorer.text(text))
      const given = deltasOf(events).flatMap(({ delta }) => delta.tool_calls ?? [])
      assert.strictEqual(given.map((call) => call.function?.arguments ?? "").join(""), restorer.json(text))
    }),
  { arbitrary: { size: 20, runs: 500 } }
)

it.effect("arguments of parallel tool calls are restored as JSON, cut anywhere", () =>
  Effect.gen(function* () {
    const given = '{"to":"[EMAIL_1]","key":"[secret_1]"}'
    for (let at = 0; at <= given.length; at++) {
      const call = (index: number, piece: string) => ({ index, function: { arguments: piece } })
      const events = yield* run([
        choices({
          tool_calls: [{ index: 0, id: "call_[EMAIL_1]", type: "function", function: { name: "ask-US_SSN_1" } }]
        }),
        choices({ tool_calls: [call(0, given.slice(0, at)), call(1, given.slice(0, at))] }),
        choices({ tool_calls: [call(1, given.slice(at))] }),
        choices({ tool_calls: [call(0, given.slice(at))] }),
        choices({}, "tool_calls")
      ])
      for (const index of [0, 1]) {
        const text = deltasOf(events)
          .flatMap(({ delta }) => delta.tool_calls ?? [])
          .filter((piece) => piece.index === index)
          .map((piece) => piece.function?.arguments ?? "")
          .join("")
        assert.deepStrictEqual(JSON.parse(text), { to: "ann@x.com", key: 'a "quoted"\nkey' })
      }
      assert.strictEqual(deltasOf(events)[0]?.delta.tool_calls?.[0]?.id, "call_[EMAIL_1]")
      assert.strictEqual(deltasOf(events)[0]?.delta.tool_calls?.[0]?.function?.name, "ask-123-45-6789")
    }
  })
)

it.effect("the input of a custom tool is restored as text, cut anywhere", () =>
  Effect.gen(function* () {
    const given = "mail [EMAIL_1] [secret_1] [EMAIL_1"
    for (let at = 0; at <= given.length; at++) {
      const events = yield* run([
        choices({
          tool_calls: [{ index: 0, id: "call_1", type: "custom", custom: { name: "ask-US_SSN_1", input: "" } }]
        }),
        choices({ tool_calls: [{ index: 0, custom: { input: given.slice(0, at) } }] }),
        choices({ tool_calls: [{ index: 0, custom: { input: given.slice(at) } }] }),
        choices({}, "tool_calls")
      ])
      const calls = deltasOf(events).flatMap(({ delta }) => delta.tool_calls ?? [])
      const input = calls.map(({ custom }) => custom?.input ?? "").join("")
      assert.strictEqual(input, 'mail ann@x.com a "quoted"\nkey [EMAIL_1')
      assert.strictEqual(calls[0]?.custom?.name, "ask-123-45-6789")
    }
  })
)

it.effect("the texts of reasoning details are restored, cut anywhere, and nothing that is encrypted", () =>
  Effect.gen(function* () {
    const given = "about [EMAIL_1], [EMAIL_1] [EMAIL_1"
    const piece = (index: number, member: "summary" | "text", said: string) =>
      choices({ reasoning_details: [{ type: `reasoning.${member}`, [member]: said, index }] })
    const encrypted = { type: "reasoning.encrypted", data: "[EMAIL_1]", id: "[EMAIL_1]", index: 2 }
    for (let at = 0; at <= given.length; at++) {
      const events = yield* run([
        piece(0, "summary", given.slice(0, at)),
        piece(1, "text", given.slice(0, at)),
        piece(0, "summary", given.slice(at)),
        piece(1, "text", given.slice(at)),
        choices({ reasoning_details: [encrypted] }),
        choices({}, "stop")
      ])
      const details: unknown = deltasOf(events).reduce<unknown>(
        (before, { delta }) => joinedMember("reasoning_details", before, delta["reasoning_details"]),
        []
      )
      const restored = "about ann@x.com, ann@x.com [EMAIL_1"
      assert.deepStrictEqual(details, [
        { type: "reasoning.summary", summary: restored, index: 0 },
        { type: "reasoning.text", text: restored, index: 1 },
        encrypted
      ])
    }
  })
)

it.effect("arguments of a `function_call` are restored as JSON, cut anywhere", () =>
  Effect.gen(function* () {
    const given = '{"key":"[secret_1]","to":"[EMAIL_1]"}'
    for (let at = 0; at <= given.length; at++) {
      const events = yield* run([
        choices({ function_call: { name: "ask-US_SSN_1", arguments: given.slice(0, at) } }),
        choices({ function_call: { arguments: given.slice(at) } }, "function_call")
      ])
      const called = deltasOf(events).map(({ delta }) => delta["function_call"] as { name?: string; arguments: string })
      assert.strictEqual(called[0]?.name, "ask-123-45-6789")
      assert.deepStrictEqual(JSON.parse(called.map((piece) => piece.arguments).join("")), {
        key: 'a "quoted"\nkey',
        to: "ann@x.com"
      })
    }
  })
)

it.effect("choices do not mix, and held text is released with the finish reason", () =>
  Effect.gen(function* () {
    const events = yield* run([
      choices({ content: "[EM" }),
      choices({ content: "[EMAIL" }, null, 1),
      choices({ content: "AIL_1]" }),
      choices({}, "stop", 1),
      choices({ content: "!" }, "stop")
    ])
    assert.deepStrictEqual(
      deltasOf(events).map(({ delta, finish_reason, index }) => [index, delta.content ?? null, finish_reason]),
      [
        [0, "", null],
        [1, "", null],
        [0, "ann@x.com", null],
        [1, "[EMAIL", "stop"],
        [0, "!", "stop"]
      ]
    )
  })
)

it.effect("a stream that breaks off releases its held text before the error", () =>
  Effect.gen(function* () {
    const failed: CompletionEvent = { _tag: "Failed", error: gatewayError(new Overloaded()) }
    const events = yield* run([
      choices({ content: "to [EMAIL_" }),
      choices({ tool_calls: [{ index: 0, function: { arguments: "[" } }] }),
      failed,
      usage
    ])
    assert.strictEqual(joined(events, "content"), "to [EMAIL_")
    assert.deepStrictEqual(deltasOf(events).at(-1)?.delta.tool_calls, [{ index: 0, function: { arguments: "[" } }])
    assert.deepStrictEqual(events.slice(-2), [failed, usage])
  })
)

it.effect("text that cannot become a placeholder is not held, and other members pass", () =>
  Effect.gen(function* () {
    const events = yield* run([
      choices({ role: "assistant", content: null }),
      choices({ content: "array[i" }),
      choices({ content: "see [", reasoning_details: [{ text: "[EMAIL_1]", signature: "[EMAIL_1]" }] })
    ])
    assert.deepStrictEqual(
      deltasOf(events).map(({ delta }) => delta),
      [
        { role: "assistant", content: null },
        { content: "array[i" },
        { content: "see ", reasoning_details: [{ text: "ann@x.com", signature: "[EMAIL_1]" }] }
      ]
    )
  })
)

it.effect("held text comes before a piece of another kind, and not as a piece of its own after it", () =>
  Effect.gen(function* () {
    const call = { index: 0, id: "call_1", type: "function", function: { name: "ask", arguments: "" } }
    const custom = (index: number, input: string) => choices({ tool_calls: [{ index, custom: { input } }] })
    const shown = (events: ReadonlyArray<CompletionEvent>) =>
      deltasOf(events).flatMap(({ delta: { content, reasoning, tool_calls: calls = [] } }) => [
        ...[content, reasoning].filter((text) => typeof text === "string" && text !== ""),
        ...calls.map(({ custom, index }) => `${index}: ${custom?.input ?? ""}`)
      ])
    const told = (...events: ReadonlyArray<CompletionEvent>) => Effect.map(run([...events, usage]), shown)
    const called = choices({ tool_calls: [call] })
    assert.deepStrictEqual(yield* told(choices({ content: "a [" }), called), ["a ", "[", "0: "])
    assert.deepStrictEqual(yield* told(choices({ reasoning: "a [" }), choices({ content: "b" })), ["a ", "[", "b"])
    assert.deepStrictEqual(yield* told(choices({ content: "a [" }), choices({ reasoning: "b" })), ["a ", "[", "b"])
    assert.deepStrictEqual(yield* told(custom(0, "a ["), custom(1, "b")), ["0: a ", "0: [", "1: b"])
    assert.deepStrictEqual(yield* told(custom(0, "a ["), choices({ content: "b" })), ["0: a ", "0: [", "b"])
    // Empty pieces end nothing.
    const empty = choices({ role: "assistant", content: "", reasoning: null, tool_calls: [], reasoning_details: [] })
    assert.deepStrictEqual(yield* told(choices({ content: "[EM" }), empty, choices({ content: "AIL_1]" })), [
      "ann@x.com"
    ])
  })
)
