import { assert, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { type ChatEvent, type ChatReply } from "../../src/domain/Chat.ts"
import { replayEvents } from "../../src/domain/Replay.ts"
import { ReplyBuilder } from "../../src/gateway/ReplyBuilder.ts"

// The same cases in every run.
Arbitrary.configureGlobal({ check: { seed: "tollgate" } })

const built = (events: ReadonlyArray<ChatEvent>): ChatReply | null => {
  const builder = new ReplyBuilder()
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

it("a stream without its end, or too large, is no reply", () => {
  assert.isNull(built([]))
  assert.isNull(built([eventOf({ index: 0, kind: "content", call: 0, text: "Hel" })]))
  const large = eventOf({ index: 0, kind: "content", call: 0, text: "x".repeat(600_000) })
  assert.isNotNull(built([large, end]))
  assert.isNull(built([large, large, end]))
})

it("content is null beside calls or a refusal, and empty where nothing was said", () => {
  const contentOf = (...events: ReadonlyArray<ChatEvent>) => built([...events, end])?.choices[0]?.message.content
  const piece = { index: 0, call: 0, text: "{}" } as const
  assert.isNull(contentOf(eventOf({ ...piece, kind: "call" })))
  assert.isNull(contentOf(eventOf({ ...piece, kind: "refusal" })))
  assert.strictEqual(contentOf({ _tag: "Choices", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }), "")
})

it("a replay has a role for nobody to add, calls by their place, one finish a choice, then the end", () => {
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
