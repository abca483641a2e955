/** What OpenAI sends, for tests of requests and answers in the form of the Responses API. */
import { type Behaviour } from "../support/upstream/Behaviour.ts"

type Members = Readonly<Record<string, unknown>>

export const nativeUsage = {
  input_tokens: 16,
  input_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 23
}

/** A whole response. */
export const nativeResponse = (output: ReadonlyArray<Members>, more: Members = {}): Members => ({
  id: "resp_vendor",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-vendor-2026-01-01",
  output,
  error: null,
  incomplete_details: null,
  reasoning: { effort: "medium", summary: null },
  service_tier: "default",
  store: false,
  usage: nativeUsage,
  ...more
})

export const message = (text: string, id = "msg_vendor"): Members => ({
  id,
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }]
})

/** The events of one item: as it begins, `events` of its pieces, and the whole item. */
export interface StreamedItem {
  readonly begun: Members
  readonly pieces?: ReadonlyArray<Members>
  readonly whole: Members
}

/** A message whose text comes in pieces. */
export const streamedMessage = (...pieces: ReadonlyArray<string>): StreamedItem => {
  const whole = message(pieces.join(""))
  const part = { content_index: 0, item_id: "msg_vendor" }
  return {
    begun: { ...whole, status: "in_progress", content: [] },
    pieces: [
      { type: "response.content_part.added", ...part, part: { type: "output_text", text: "", annotations: [] } },
      ...pieces.map((delta) => ({ type: "response.output_text.delta", ...part, delta, logprobs: [] })),
      { type: "response.output_text.done", ...part, text: pieces.join(""), logprobs: [] },
      {
        type: "response.content_part.done",
        ...part,
        part: { type: "output_text", text: pieces.join(""), annotations: [], logprobs: [] }
      }
    ],
    whole
  }
}

/** The events of a response. `more`: members of the last one. */
export const nativeEvents = (items: ReadonlyArray<StreamedItem>, more: Members = {}): ReadonlyArray<Members> => {
  const begun = nativeResponse([], { status: "in_progress", usage: null })
  const ended = nativeResponse(
    items.map(({ whole }) => whole),
    more
  )
  return [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...items.flatMap(({ begun, pieces = [], whole }, output_index) => [
      { type: "response.output_item.added", output_index, item: begun },
      ...pieces.map((piece) => ({ ...piece, output_index })),
      { type: "response.output_item.done", output_index, item: whole }
    ]),
    { type: `response.${String(ended["status"])}`, response: ended }
  ].map((event, sequence_number) => ({ ...event, sequence_number }))
}

export const streamed = (events: ReadonlyArray<Members>): Behaviour => ({
  chunks: [events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`).join("")]
})

/** The events of an answer, as a client reads them. */
export const eventsIn = (answer: string): ReadonlyArray<ReturnType<typeof JSON.parse>> =>
  answer.split("\n").flatMap((line) => (line.startsWith("data: ") ? JSON.parse(line.slice(6)) : []))
