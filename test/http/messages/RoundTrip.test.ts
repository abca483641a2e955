/**
 * Any request of the Messages API, as a chat completion and from there as a request to Anthropic:
 * what the chat form can hold arrives as it was sent.
 */
import { assert, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { type MessagesRequest } from "../../../src/api/Messages.ts"
import { translated } from "../../../src/http/messages/Request.ts"
import { thoughtMaker } from "../../../src/providers/anthropic/Model.ts"
import { lowerRequest } from "../../../src/providers/anthropic/Request.ts"
import { offer } from "../../providers/replayedTransport.ts"

/** The body that Anthropic gets. */
const sent = (body: object, model: string) => {
  const { dropped, request } = Result.getOrThrow(translated({ model: "test/small", ...body } as MessagesRequest))
  assert.deepStrictEqual(dropped, [])
  const lowered = lowerRequest(
    request,
    { ...offer, upstream: model, maxCompletionTokens: null },
    { maker: thoughtMaker("alpha", model), stream: request.stream === true }
  )
  const { body: text, leftOut } = Result.getOrThrow(lowered)
  assert.deepStrictEqual(leftOut, [])
  return JSON.parse(String(text))
}

/** Anthropic takes no text of white space alone, and trims none. */
const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(12)).check(
  Schema.makeFilter((text) => text.trim() !== "")
)
const Word = Schema.String.check(Schema.isPattern(/^[a-z]{1,8}$/))
const Base64 = Schema.Literals(["AAAA", "iVBORw0KGgo="])
const Mark = {
  cache_control: Schema.optionalKey(
    Schema.Struct({ type: Schema.Literal("ephemeral"), ttl: Schema.Literals(["5m", "1h"]) })
  )
}
const url = (name: string) =>
  Schema.Struct({ type: Schema.Literal("url"), url: Schema.Literal(`https://a.example/${name}`) })

const TextBlock = Schema.Struct({ type: Schema.Literal("text"), text: Text, ...Mark })
const ImageBlock = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([
    Schema.Struct({
      type: Schema.Literal("base64"),
      media_type: Schema.Literals(["image/png", "image/webp"]),
      data: Base64
    }),
    url("cat.png")
  ]),
  ...Mark
})
const DocumentBlock = Schema.Struct({
  type: Schema.Literal("document"),
  source: Schema.Union([
    Schema.Struct({ type: Schema.Literal("base64"), media_type: Schema.Literal("application/pdf"), data: Base64 }),
    url("a.pdf")
  ]),
  title: Text,
  context: Schema.optionalKey(Text),
  citations: Schema.optionalKey(Schema.Struct({ enabled: Schema.Boolean })),
  ...Mark
})
const UserBlocks = Schema.Array(Schema.Union([TextBlock, ImageBlock, DocumentBlock])).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(4)
)
const Thought = Schema.Union([
  Schema.Struct({ type: Schema.Literal("thinking"), thinking: Text, signature: Word }),
  Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Word })
])
const Result_ = Schema.Struct({
  content: Schema.Array(
    Schema.Union([
      Schema.Struct({ type: Schema.Literal("text"), text: Text }),
      ImageBlock.mapFields(({ source, type }) => ({ source, type }))
    ])
  ).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  ...Mark
})
const Call = Schema.Struct({
  name: Word,
  input: Schema.Record(Word, Schema.Union([Text, Schema.Int, Schema.Null])),
  result: Result_
})
/** A turn of the user, and the assistant's answer: thoughts, which a text follows, then calls. */
const Round = Schema.Struct({
  user: UserBlocks,
  said: Schema.Array(Schema.Union([Thought, TextBlock])).check(Schema.isMaxLength(3)),
  told: TextBlock,
  calls: Schema.Array(Call).check(Schema.isMaxLength(3))
})
const Tool = Schema.Struct({
  name: Word,
  description: Schema.optionalKey(Text),
  input_schema: Schema.Struct({
    type: Schema.Literal("object"),
    properties: Schema.Record(Word, Schema.Struct({ type: Schema.Literals(["string", "number"]) }))
  }),
  ...Mark
})
const Asked = Schema.Struct({
  system: Schema.optionalKey(Schema.Array(TextBlock).check(Schema.isMinLength(1), Schema.isMaxLength(3))),
  rounds: Schema.Array(Round).check(Schema.isMaxLength(3)),
  last: UserBlocks,
  tools: Schema.optionalKey(Schema.Array(Tool).check(Schema.isMinLength(1), Schema.isMaxLength(3))),
  choice: Schema.Literals(["auto", "any", "none"]),
  single: Schema.Boolean,
  max_tokens: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64_000 })),
  stream: Schema.Boolean,
  more: Schema.Struct({
    temperature: Schema.optionalKey(Schema.Literals([0, 0.5, 1])),
    top_k: Schema.optionalKey(Schema.Literals([1, 40])),
    stop_sequences: Schema.optionalKey(Schema.Array(Word).check(Schema.isMinLength(1), Schema.isMaxLength(3))),
    metadata: Schema.optionalKey(Schema.Struct({ user_id: Word })),
    service_tier: Schema.optionalKey(Schema.Literals(["auto", "standard_only"])),
    cache_control: Schema.optionalKey(Schema.Struct({ type: Schema.Literal("ephemeral") }))
  })
})

/** The conversation: the results of a round's calls come first in the turn that follows. */
const messagesOf = ({ last, rounds }: typeof Asked.Type) => {
  const turns: Array<{ readonly role: "user" | "assistant"; readonly content: ReadonlyArray<object> }> = []
  let results: ReadonlyArray<object> = []
  for (const [at, { calls, said, told, user }] of rounds.entries()) {
    const uses = calls.map(({ input, name }, nth) => ({ type: "tool_use", id: `toolu_${at}_${nth}`, name, input }))
    turns.push(
      { role: "user", content: [...results, ...user] },
      { role: "assistant", content: [...said, told, ...uses] }
    )
    results = calls.map(({ result }, nth) => ({ type: "tool_result", tool_use_id: `toolu_${at}_${nth}`, ...result }))
  }
  return [...turns, { role: "user" as const, content: [...results, ...last] }]
}

it.prop(
  "a request comes back as it was",
  { asked: Asked },
  ({ asked }) => {
    const { choice, max_tokens, more, single, stream, system, tools } = asked
    const parallel = single && choice !== "none" ? { disable_parallel_tool_use: true } : {}
    const given = { type: choice, ...parallel }
    const isDefault = choice === "auto" && !single
    const body = {
      max_tokens,
      messages: messagesOf(asked),
      stream,
      ...(system === undefined ? {} : { system }),
      ...(tools === undefined ? {} : { tools }),
      // The default may be left out.
      ...(tools === undefined || isDefault ? {} : { tool_choice: given }),
      ...more
    }
    assert.deepStrictEqual(sent(body, "claude-sonnet-4-5"), { model: "claude-sonnet-4-5", ...body })
  },
  { arbitrary: { runs: 300 } }
)

const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }
const base = { max_tokens: 8_000, messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }], stream: false }
const tools = [{ name: "f", input_schema: schema, strict: true }]

const fixed: ReadonlyArray<{ readonly name: string; readonly model: string; readonly more: object }> = [
  {
    name: "a budget of thoughts",
    model: "claude-sonnet-4-5",
    more: { thinking: { type: "enabled", budget_tokens: 2_048 } }
  },
  {
    name: "an effort",
    model: "claude-opus-4-6",
    more: { thinking: { type: "adaptive" }, output_config: { effort: "high" } }
  },
  {
    name: "a schema",
    model: "claude-sonnet-4-5",
    more: { output_config: { format: { type: "json_schema", schema } } }
  },
  { name: "one tool", model: "claude-sonnet-4-5", more: { tools, tool_choice: { type: "tool", name: "f" } } },
  { name: "top_p", model: "claude-sonnet-4-5", more: { top_p: 0.9 } }
]

it.each(fixed)("$name comes back as it was", ({ model, more }) => {
  assert.deepStrictEqual(sent({ ...base, ...more }, model), { model, ...base, ...more })
})
