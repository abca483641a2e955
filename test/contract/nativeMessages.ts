/** What Anthropic sends, for tests of requests and answers in the form of its own API. */
import { type Behaviour } from "../support/upstream/Behaviour.ts"

type Members = Readonly<Record<string, unknown>>

export const nativeUsage = {
  input_tokens: 11,
  cache_read_input_tokens: 2,
  cache_creation_input_tokens: 3,
  output_tokens: 7
}

/** A whole message. */
export const nativeBody = (content: ReadonlyArray<Members>, more: Members = {}): Members => ({
  id: "msg_vendor",
  type: "message",
  role: "assistant",
  model: "claude-vendor-20260101",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { ...nativeUsage, service_tier: "standard" },
  ...more
})

/** The events of a message. `deltas` are pieces of each block. */
export const nativeEvents = (
  blocks: ReadonlyArray<{ readonly block: Members; readonly deltas?: ReadonlyArray<Members> }>,
  delta: Members = {},
  extra: Members = {}
): ReadonlyArray<Members> => [
  {
    type: "message_start",
    message: nativeBody([], { stop_reason: null, usage: { ...nativeUsage, output_tokens: 1 } })
  },
  { type: "ping" },
  ...blocks.flatMap(({ block, deltas = [] }, index) => [
    { type: "content_block_start", index, content_block: block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index }
  ]),
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null, ...delta },
    usage: nativeUsage,
    ...extra
  },
  { type: "message_stop" }
]

export const sse = (events: ReadonlyArray<Members>): string =>
  events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`).join("")

export const streamed = (events: ReadonlyArray<Members>): Behaviour => ({ chunks: [sse(events)] })

export const text = (...pieces: ReadonlyArray<string>) => ({
  block: { type: "text", text: "" },
  deltas: pieces.map((piece) => ({ type: "text_delta", text: piece }))
})

/** The events of an answer, as a client reads them. Pings are left out. */
export const eventsIn = (answer: string): ReadonlyArray<Members & { readonly type: string }> =>
  answer
    .split("\n\n")
    .filter((frame) => frame.startsWith("event: "))
    .map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)))
    .filter(({ type }) => type !== "ping")
