/** Conversations that tests make up: schemas of them, and their items in the Responses API. */
import { Schema } from "effect"
import { type Json } from "../../support/said.ts"

const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(12))
const optional = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)
const few = <S extends Schema.Top>(schema: S, most: number) => Schema.Array(schema).check(Schema.isMaxLength(most))
const Tool = Schema.Literals(["read", "apply_patch", "issues.create"])
export const Picture = Schema.Struct({ url: Text, detail: Schema.Literals(["auto", "low", "high", "original"]) })

const Turn = Schema.Struct({
  instructions: optional(Text),
  user: few(Text, 2),
  pictures: few(Picture, 1),
  summary: few(Text, 2),
  sealed: optional(Text),
  said: optional(Text),
  refused: optional(Text),
  phase: optional(Schema.Literals(["commentary", "final_answer"])),
  calls: few(Schema.Struct({ tool: Tool, given: Text, output: few(Text, 2), picture: optional(Picture) }), 3)
})
export type Turn = typeof Turn.Type
export const Conversation = few(Turn, 4)

const Number01 = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
export const Settings = Schema.Struct({
  temperature: optional(Number01),
  top_p: optional(Number01),
  max_output_tokens: optional(Schema.Int.check(Schema.isBetween({ minimum: 16, maximum: 10_000 }))),
  effort: optional(Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
  summary: optional(Schema.Literals(["auto", "detailed"])),
  verbosity: optional(Schema.Literals(["low", "high"])),
  format: optional(Schema.Literals(["json_object", "json_schema"])),
  isStrict: Schema.Boolean,
  choice: optional(Schema.Literals(["auto", "none", "required", "read", "apply_patch", "allowed"])),
  parallel: optional(Schema.Boolean),
  top_logprobs: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))),
  key: optional(Text),
  retention: optional(Schema.Literals(["24h"])),
  tier: optional(Schema.Literals(["flex", "priority"])),
  metadata: optional(Schema.Struct({ team: Text })),
  user: optional(Text)
})
export type Settings = typeof Settings.Type

export const given = (name: string, value: unknown): Json => (value === null ? {} : { [name]: value })
export const named = (entries: Json): Json =>
  Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== null))

export const schema = { type: "object", properties: { city: { type: "string" } } }
export const tools = [
  { type: "function", name: "read", description: "Reads.", parameters: schema, strict: true },
  { type: "custom", name: "apply_patch", description: "Edits." },
  {
    type: "namespace",
    name: "issues",
    description: "",
    tools: [{ type: "function", name: "create", parameters: schema }]
  }
]

export const formatOf = ({ format, isStrict }: Settings): Json | null => {
  if (format === null) return null
  return format === "json_object" ? { type: format } : { type: format, name: "city", schema, strict: isStrict }
}

export const choiceOf = ({ choice }: Settings): unknown => {
  if (choice === "read") return { type: "function", name: "read" }
  if (choice === "apply_patch") return { type: "custom", name: "apply_patch" }
  return choice === "allowed"
    ? { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "create", namespace: "issues" }] }
    : choice
}

const shown = ({ detail, url }: typeof Picture.Type): Json => ({
  type: "input_image",
  image_url: `data:${url}`,
  detail
})

/** The items of a turn, in the order in which the API answers them. */
export const itemsOf = (turn: Turn, at: number): ReadonlyArray<Json> => {
  const id = (index: number) => `call_${at}_${index}`
  const callItem = ({ given, tool }: Turn["calls"][number], index: number): Json => {
    const call = { id: `fc_${at}_${index}`, call_id: id(index), status: "completed" }
    if (tool === "apply_patch") return { ...call, type: "custom_tool_call", name: tool, input: given }
    const arguments_ = JSON.stringify({ given })
    return tool === "read"
      ? { ...call, type: "function_call", name: tool, arguments: arguments_ }
      : { ...call, type: "function_call", name: "create", namespace: "issues", arguments: arguments_ }
  }
  const outputItem = ({ output, picture, tool }: Turn["calls"][number], index: number): Json => {
    const parts = [
      ...output.map((text) => ({ type: "input_text", text })),
      ...(picture === null ? [] : [shown(picture)])
    ]
    const type = tool === "apply_patch" ? "custom_tool_call_output" : "function_call_output"
    return { type, call_id: id(index), output: parts.length === 1 && output.length === 1 ? output[0] : parts }
  }
  const content = [
    ...(turn.said === null ? [] : [{ type: "output_text", text: turn.said, annotations: [] }]),
    ...(turn.refused === null ? [] : [{ type: "refusal", refusal: turn.refused }])
  ]
  const isSpoken = content.length > 0 || turn.calls.length > 0
  return [
    ...(turn.instructions === null ? [] : [{ role: "developer", content: turn.instructions }]),
    {
      role: "user",
      content: [
        { type: "input_text", text: `turn ${at}` },
        ...turn.user.map((text) => ({ type: "input_text", text })),
        ...turn.pictures.map(shown)
      ]
    },
    ...(turn.sealed === null || !isSpoken
      ? []
      : [
          {
            type: "reasoning",
            id: `rs_${at}`,
            summary: turn.summary.map((text) => ({ type: "summary_text", text })),
            encrypted_content: turn.sealed
          }
        ]),
    ...(content.length === 0
      ? []
      : [{ type: "message", id: `msg_${at}`, role: "assistant", content, ...given("phase", turn.phase) }]),
    ...turn.calls.map(callItem),
    ...turn.calls.map(outputItem)
  ]
}
