import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { type ChatEvent, type ChatReply, type Delta, type ToolCallDelta } from "../../../src/domain/Chat.ts"
import { replayEvents } from "../../../src/domain/Replay.ts"
import { ReplyAssembler } from "../../../src/gateway/reply/ReplyAssembler.ts"

const built = (events: ReadonlyArray<ChatEvent>): ChatReply | null => {
  const builder = new ReplyAssembler()
  for (const event of events) builder.add(event)
  return builder.build()
}

const Text = Schema.String.check(Schema.isMinLength(1))
const Piece = Schema.Struct({
  index: Schema.Literals([0, 1, 2]),
  kind: Schema.Literals(["content", "refusal", "reasoning", "call", "logprobs"]),
  call: Schema.Literals([0, 1]),
  text: Text
})
const Pieces = Schema.Array(Piece)
const Finish = Schema.Literals(["stop", "length", "tool_calls"])

const eventOf = ({ call, index, kind, text }: typeof Piece.Type): ChatEvent => ({
  _tag: "Choices",
  choices: [
    kind === "logprobs"
      ? { index, delta: {}, logprobs: { content: [{ token: text }] }, finish_reason: null }
      : {
          index,
          delta:
            kind === "call"
              ? {
                  tool_calls: [
                    { index: call, id: `call_${call}`, type: "function", function: { name: "", arguments: text } }
                  ]
                }
              : { [kind]: text },
          finish_reason: null
        }
  ]
})

const end: ChatEvent = {
  _tag: "End",
  usage: { promptTokens: 1, completionTokens: 2, cachedTokens: 0 },
  systemFingerprint: "fp"
}

it.prop("events to reply to events to the same reply", { pieces: Pieces, finish: Finish }, ({ finish, pieces }) => {
  const used = [...new Set(pieces.map(({ index }) => index))]
  const finishes = used.map((index): ChatEvent => ({
    _tag: "Choices",
    choices: [{ index, delta: {}, finish_reason: finish }]
  }))
  const reply = built([...pieces.map(eventOf), ...finishes, end])
  assert.isNotNull(reply)
  if (reply === null) return
  assert.deepStrictEqual(built(replayEvents(reply)), reply)
  assert.deepStrictEqual(
    reply.choices.map(({ index }) => index),
    used.toSorted((a, b) => a - b)
  )
  for (const choice of reply.choices) {
    const said = (kind: string) => pieces.filter((piece) => piece.index === choice.index && piece.kind === kind)
    const joined = said("content")
      .map(({ text }) => text)
      .join("")
    assert.strictEqual(choice.message.content ?? "", joined)
    assert.strictEqual(choice.finish_reason, finish)
  }
})

it("a stream without its end, or too large, gives no reply", () => {
  assert.isNull(built([]))
  assert.isNull(built([eventOf({ index: 0, kind: "content", call: 0, text: "Hel" })]))
  const large = eventOf({ index: 0, kind: "content", call: 0, text: "x".repeat(600_000) })
  assert.isNotNull(built([large, end]))
  assert.isNull(built([large, large, end]))
})

it("content is null next to calls or a refusal, and empty if there is no text", () => {
  const contentOf = (...events: ReadonlyArray<ChatEvent>) => built([...events, end])?.choices[0]?.message.content
  const piece = { index: 0, call: 0, text: "{}" } as const
  assert.isNull(contentOf(eventOf({ ...piece, kind: "call" })))
  assert.isNull(contentOf(eventOf({ ...piece, kind: "refusal" })))
  assert.strictEqual(contentOf({ _tag: "Choices", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }), "")
})

it("a replay has roles, calls by index, one finish reason a choice, then the end", () => {
  const call = (at: number) => ({ id: `c${at}`, type: "function", function: { name: "f", arguments: "{}" } })
  const reply: ChatReply = {
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: null, tool_calls: [call(0), call(1)] },
        finish_reason: "tool_calls"
      }
    ],
    usage: null,
    systemFingerprint: null
  }
  assert.deepStrictEqual(replayEvents(reply), [
    {
      _tag: "Choices",
      choices: [
        {
          index: 0,
          delta: {
            role: "assistant",
            content: null,
            tool_calls: [
              { index: 0, ...call(0) },
              { index: 1, ...call(1) }
            ]
          },
          finish_reason: null
        },
        { index: 0, delta: {}, finish_reason: "tool_calls" }
      ]
    },
    { _tag: "End", usage: null, systemFingerprint: null }
  ])
})

const deltasOf = (...deltas: ReadonlyArray<Delta>): ReadonlyArray<ChatEvent> =>
  deltas.map((delta) => ({ _tag: "Choices", choices: [{ index: 0, delta, finish_reason: null }] }))

/** A delta with members that the types do not know. */
const calling = (piece: Readonly<Record<string, unknown>>): Delta => ({
  tool_calls: [piece as unknown as ToolCallDelta]
})

it("keeps unknown members of the message, of calls and of the choice", () => {
  const signed = { google: { thought_signature: "c2ln" } }
  const reply = built([
    ...deltasOf(
      { role: "assistant", content: "", refusal: null, audio: null },
      { reasoning: "Hm", reasoning_details: [{ type: "reasoning.text", text: "H", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.text", text: "m", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.text", signature: "c2ln", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.encrypted", data: "eA", index: 1 }] },
      { annotations: [{ type: "url_citation", url_citation: { url: "a" } }] },
      { annotations: [{ type: "url_citation", url_citation: { url: "b" } }] },
      { function_call: { name: "f", arguments: "{" } },
      { function_call: { arguments: "}" } },
      calling({ index: 0, id: "a", type: "function", function: { name: "f" }, extra_content: signed }),
      calling({ index: 1, id: "b", type: "custom", custom: { name: "g", input: "x" } }),
      calling({ index: 1, custom: { input: "y" } })
    ),
    {
      _tag: "Choices",
      choices: [
        { index: 0, delta: {}, logprobs: null, content_filter_results: { hate: 0 }, finish_reason: "tool_calls" }
      ]
    },
    end
  ])
  assert.deepStrictEqual(reply?.choices, [
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        refusal: null,
        reasoning: "Hm",
        tool_calls: [
          { id: "a", type: "function", function: { name: "f", arguments: "" }, extra_content: signed },
          { id: "b", type: "custom", custom: { name: "g", input: "xy" } }
        ],
        reasoning_details: [
          { type: "reasoning.text", text: "Hm", signature: "c2ln", index: 0 },
          { type: "reasoning.encrypted", data: "eA", index: 1 }
        ],
        annotations: [
          { type: "url_citation", url_citation: { url: "a" } },
          { type: "url_citation", url_citation: { url: "b" } }
        ],
        function_call: { name: "f", arguments: "{}" }
      },
      logprobs: null,
      content_filter_results: { hate: 0 },
      finish_reason: "tool_calls"
    }
  ])
})

it("keeps no members of the events themselves, and none of the prototype", () => {
  const events = deltasOf(
    { notes: [{ index: 0, text: "a" }] },
    { notes: [{ index: 0, text: "b" }] },
    JSON.parse(
      '{"__proto__":{"a":1},"constructor":"x","notes":[{"index":0,"__proto__":{"polluted":1},"toString":"y"}]}'
    )
  )
  const before = structuredClone(events.slice(0, 2))
  const message = built([...events, end])?.choices[0]?.message
  assert.deepStrictEqual(events.slice(0, 2), before)
  assert.deepStrictEqual(message?.["notes"], [{ index: 0, text: "ab", toString: "y" }])
  assert.include(Object.entries(message ?? {}).flat(), "constructor")
  assert.notProperty({}, "polluted")
  assert.notProperty({}, "a")
})

it("log probabilities and members other than text count towards the size", () => {
  const entry = { token: "x", logprob: 0, top_logprobs: [] }
  const probable = (count: number): ChatEvent => ({
    _tag: "Choices",
    choices: [
      {
        index: 0,
        delta: {},
        logprobs: { content: Array.from({ length: count }, () => entry), refusal: null },
        finish_reason: null
      }
    ]
  })
  assert.deepStrictEqual(built([probable(2), probable(1), end])?.choices[0]?.["logprobs"], {
    content: [entry, entry, entry],
    refusal: null
  })
  assert.isNull(built([probable(9_000), end]))
  assert.isNull(built([...deltasOf({ notes: [{ text: "x".repeat(1_048_577) }] }), end]))
})
