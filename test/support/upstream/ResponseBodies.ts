/**
 * Bodies of the Responses API for scripted upstreams, as OpenAI documents them. Everything has a
 * default: pass only the members that the test is about.
 */
import { sse, type UsageCounts } from "./Bodies.ts"

type Item = Readonly<Record<string, unknown>>

export const responseUsage = ({ cached_tokens = 0, completion_tokens = 5, prompt_tokens = 9 }: UsageCounts = {}) => ({
  input_tokens: prompt_tokens,
  input_tokens_details: { cached_tokens, cache_write_tokens: 0 },
  output_tokens: completion_tokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: prompt_tokens + completion_tokens
})

export const messageItem = (text: string, members: Item = {}): Item => ({
  id: "msg_67ccd3acc8d48190a77525dc6de64b4104becb25c45c1d41",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
  ...members
})

export const refusalItem = (refusal: string): Item => messageItem("", { content: [{ type: "refusal", refusal }] })

export const callItem = (call_id: string, name: string, input: string): Item => ({
  id: `fc_${call_id}`,
  type: "function_call",
  status: "completed",
  arguments: input,
  call_id,
  name
})

export const customCallItem = (call_id: string, name: string, input: string): Item => ({
  id: `ctc_${call_id}`,
  type: "custom_tool_call",
  status: "completed",
  call_id,
  name,
  input
})

/** `encrypted`: null as in a response to a request that did not include it. */
export const reasoningItem = (summary: ReadonlyArray<string>, encrypted: string | null, id = "rs_1"): Item => ({
  id,
  type: "reasoning",
  summary: summary.map((text) => ({ type: "summary_text", text })),
  ...(encrypted === null ? {} : { encrypted_content: encrypted })
})

/** A response. `usage: null` leaves usage out. */
export const responseBody = (
  output: ReadonlyArray<Item>,
  { usage, ...members }: Item & { readonly usage?: UsageCounts | null } = {}
): Item => ({
  id: "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
  object: "response",
  created_at: 1_741_476_542,
  status: "completed",
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  model: "small-2026",
  output,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  service_tier: "default",
  store: false,
  temperature: 1,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_p: 1,
  truncation: "disabled",
  ...(usage === null ? {} : { usage: responseUsage(usage) }),
  user: null,
  metadata: {},
  ...members
})

/** An event, with its name as the vendor sends it. */
export const responseEvent = (type: string, members: Item = {}): string =>
  `event: ${type}\n${sse({ type, ...members })}`

/** The events of a message: its text in pieces. */
const messageEvents = (texts: ReadonlyArray<string>, place: Item): ReadonlyArray<string> => {
  const text = texts.join("")
  const part = { ...place, content_index: 0 }
  return [
    responseEvent("response.content_part.added", { ...part, part: { type: "output_text", text: "", annotations: [] } }),
    ...texts.map((delta) => responseEvent("response.output_text.delta", { ...part, delta, logprobs: [] })),
    responseEvent("response.output_text.done", { ...part, text, logprobs: [] }),
    responseEvent("response.content_part.done", { ...part, part: { type: "output_text", text, annotations: [] } })
  ]
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const pieces = (text: string): ReadonlyArray<string> => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== "")
}

/** The events of one item: announced, in two pieces, and whole. */
const itemEvents = (item: Item, output_index: number): ReadonlyArray<string> => {
  const place = { item_id: item["id"], output_index }
  const [kind, member] =
    item["type"] === "function_call" ? ["function_call_arguments", "arguments"] : ["custom_tool_call_input", "input"]
  const input = textOf(item[member ?? ""])
  const [part] = Array.isArray(item["content"]) ? (item["content"] as ReadonlyArray<Item>) : []
  const summary = Array.isArray(item["summary"]) ? (item["summary"] as ReadonlyArray<Item>) : []
  const inside =
    item["type"] === "message"
      ? part?.["type"] === "refusal"
        ? pieces(textOf(part["refusal"])).map((delta) =>
            responseEvent("response.refusal.delta", { ...place, content_index: 0, delta })
          )
        : messageEvents(pieces(textOf(part?.["text"])), place)
      : item["type"] === "reasoning"
        ? summary.flatMap(({ text }, summary_index) =>
            pieces(textOf(text)).map((delta) =>
              responseEvent("response.reasoning_summary_text.delta", { ...place, summary_index, delta })
            )
          )
        : [
            ...pieces(input).map((delta) => responseEvent(`response.${kind}.delta`, { ...place, delta })),
            responseEvent(`response.${kind}.done`, { ...place, [member ?? ""]: input })
          ]
  const empty = { ...item, status: "in_progress", content: [], summary: [], arguments: "", input: "" }
  return [
    responseEvent("response.output_item.added", { output_index, item: empty }),
    ...inside,
    responseEvent("response.output_item.done", { output_index, item })
  ]
}

/** A whole good stream of these items. */
export const responseChunks = (
  output: ReadonlyArray<Item>,
  members: Item & { readonly usage?: UsageCounts | null } = {}
): ReadonlyArray<string> => {
  const whole = responseBody(output, members)
  const begun = { response: { ...whole, status: "in_progress", output: [], usage: null, incomplete_details: null } }
  return [
    responseEvent("response.created", begun),
    responseEvent("response.in_progress", begun),
    ...output.flatMap((item, at) => itemEvents(item, at)),
    responseEvent(`response.${textOf(whole["status"])}`, { response: whole })
  ]
}
