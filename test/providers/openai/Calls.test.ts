/**
 * Tool calls with the numbers and names of OpenAI-dialect vendors, in streams and whole replies.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type ChatReply, type ChatRequest } from "../../../src/domain/Chat.ts"
import { replayEvents } from "../../../src/domain/Replay.ts"
import { ReplyAssembler } from "../../../src/gateway/reply/ReplyAssembler.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import { chatBody, chunkBody, DONE, sse } from "../../support/upstream/Bodies.ts"
import { config, offer, replay } from "../replayedTransport.ts"

const request: ChatRequest = {
  model: "test/small",
  stream: true,
  messages: [
    { role: "user", content: "hi" },
    { role: "assistant", content: null, tool_calls: [{ id: "call_0", type: "function" }] },
    { role: "tool", tool_call_id: "call_0", content: "ok" }
  ]
}

/** The reply that a client assembles from the stream. */
const gathered = Effect.fnUntraced(function* (pieces: ReadonlyArray<Readonly<Record<string, unknown>>>) {
  const chunks = [
    ...pieces.map((piece) => sse(chunkBody({ tool_calls: [piece] }))),
    sse(chunkBody({}, "tool_calls")),
    DONE
  ].map((chunk) => Buffer.from(chunk))
  const builder = new ReplyAssembler()
  const provider = makeOpenAi(config(), replay({ chunks }))
  const events = yield* Effect.scoped(
    Effect.flatMap(provider.chatStream({ request, offer }), (stream) => Stream.runCollect(stream.stream))
  )
  for (const event of events) builder.add(event)
  return callsOf(builder.build())
})

const whole = Effect.fnUntraced(function* (calls: ReadonlyArray<Readonly<Record<string, unknown>>>) {
  const body = chatBody({ content: null, message: { tool_calls: calls }, finish_reason: "tool_calls" })
  const chunks = [Buffer.from(JSON.stringify(body))]
  return yield* makeOpenAi(config(), replay({ chunks, type: "application/json" })).chat({ request, offer })
})

interface Call {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

const callsOf = (reply: ChatReply | null): ReadonlyArray<Call> =>
  JSON.parse(JSON.stringify(reply?.choices[0]?.message.tool_calls ?? []))

const said = (calls: ReadonlyArray<Call>) => calls.map(({ function: called }) => [called.name, called.arguments])

describe("in a stream", () => {
  it.effect("calls that all bear the number 0 are told apart by their ids", () =>
    Effect.gen(function* () {
      const calls = yield* gathered([
        { index: 0, id: "a", type: "function", function: { name: "f", arguments: '{"x":' } },
        { index: 0, function: { arguments: "1}" } },
        { index: 0, id: "b", type: "function", function: { name: "g", arguments: '{"y":' } },
        { index: 0, id: "b", function: { arguments: "2}" } }
      ])
      assert.deepStrictEqual(said(calls), [
        ["f", '{"x":1}'],
        ["g", '{"y":2}']
      ])
      assert.deepStrictEqual(
        calls.map(({ id }) => id),
        ["a", "b"]
      )
    })
  )

  it.effect("an id that is new in every piece goes on with the call of its number", () =>
    Effect.gen(function* () {
      const calls = yield* gathered([
        { index: 0, id: "r1", type: "function", function: { name: "f", arguments: "" } },
        { index: 0, id: "r2", function: { arguments: '{"x":' } },
        { index: 0, id: "r3", function: { arguments: "1}" } }
      ])
      assert.deepStrictEqual(said(calls), [["f", '{"x":1}']])
      assert.strictEqual(calls[0]?.id, "r1")
    })
  )

  it.effect("calls without numbers and ids are told apart by their names", () =>
    Effect.gen(function* () {
      const calls = yield* gathered([
        { function: { name: "f", arguments: { x: 1 } } },
        { function: { name: "f", arguments: { x: 2 } } }
      ])
      assert.deepStrictEqual(said(calls), [
        ["f", '{"x":1}'],
        ["f", '{"x":2}']
      ])
    })
  )

  it.effect("parallel calls in turns keep their numbers, ids or none", () =>
    Effect.gen(function* () {
      const calls = yield* gathered([
        { index: 0, id: "", type: "function", function: { name: "f", arguments: "" } },
        { index: 1, id: "", type: "function", function: { name: "g", arguments: "" } },
        { index: 0, id: "", function: { arguments: "{}" } },
        { index: 1, function: { arguments: "[]" } }
      ])
      assert.deepStrictEqual(said(calls), [
        ["f", "{}"],
        ["g", "[]"]
      ])
      assert.lengthOf(new Set(calls.map(({ id }) => id)), 2)
      for (const { id } of calls) assert.match(id, /^call_chatcmpl-/)
    })
  )

  it.effect("a number that is none is left out of account", () =>
    Effect.gen(function* () {
      const calls = yield* gathered([
        { index: 1e9, id: "a", function: { name: "f", arguments: "{}" } },
        { index: -1, id: "b", function: { name: "g", arguments: "{}" } }
      ])
      assert.deepStrictEqual(
        calls.map(({ id }) => id),
        ["a", "b"]
      )
    })
  )
})

describe("in a whole reply", () => {
  it.effect("arguments that are an object become their JSON, and calls without an id get one", () =>
    Effect.gen(function* () {
      const calls = callsOf(
        yield* whole([
          { id: "", type: "function", function: { name: "f", arguments: { x: 1 } } },
          { type: "function", function: { name: "g", arguments: "{}" } }
        ])
      )
      assert.deepStrictEqual(said(calls), [
        ["f", '{"x":1}'],
        ["g", "{}"]
      ])
      assert.lengthOf(new Set(calls.map(({ id }) => id)), 2)
      assert.isFalse(calls.some(({ id }) => id === "" || id === "call_0"))
    })
  )

  it.effect("calls that all bear the number 0 are as many in a stream out of the cache", () =>
    Effect.gen(function* () {
      const reply = yield* whole([
        { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } },
        { index: 0, id: "b", type: "function", function: { name: "g", arguments: "{}" } }
      ])
      const builder = new ReplyAssembler()
      for (const event of replayEvents(reply)) builder.add(event)
      assert.deepStrictEqual(
        callsOf(builder.build()).map(({ id }) => id),
        ["a", "b"]
      )
    })
  )
})
