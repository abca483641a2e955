/** Bytes of good and of malformed answers, in the format of each dialect. */
import { type DialectName } from "../../src/domain/Catalog.ts"
import { event as bedrockEvent, exception, message } from "../providers/bedrock.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { chatBody, chunkBody, DONE, sse, usageChunkBody } from "../support/upstream/Bodies.ts"
import { messageItem, responseBody, responseEvent } from "../support/upstream/ResponseBodies.ts"

type Bytes = string | Uint8Array

/** The completion tokens that every answer reports. */
export const TOKENS = 12

/** The bytes of one dialect. */
export interface DialectBytes {
  /** The start of a stream. */
  readonly begin: ReadonlyArray<Bytes>
  readonly said: (text: unknown) => Bytes
  /** The finish reason, usage and the terminator. */
  readonly end: ReadonlyArray<Bytes>
  /** The events that complete the answer, without those that follow. */
  readonly finished: ReadonlyArray<Bytes>
  /** A keep-alive event. */
  readonly ping: Bytes
  /** A chunk of text with a truncated end, as a whole event. */
  readonly torn: Bytes
  readonly error: Bytes
  /** An event with a member that is nested `levels` deep. */
  readonly deep: (levels: number) => Bytes
  /** A whole reply. `more`: members next to the text, as JSON. */
  readonly whole: (text: unknown, more?: string) => string
  readonly type: string
}

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels)
const named = (type: string, body: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...body })}\n\n`
const eventStream = "text/event-stream"

const openai: DialectBytes = {
  begin: [sse(chunkBody({ role: "assistant", content: "" }))],
  said: (content) => sse(chunkBody({ content })),
  end: [sse(chunkBody({}, "stop")), sse(usageChunkBody({ completion_tokens: TOKENS })), DONE],
  finished: [sse(chunkBody({}, "stop"))],
  ping: ": ping\n\n",
  torn: `data: {"choices":[{"index":0,"delta":{"content":"not \n\n`,
  error: "event: error\ndata: upstream aborted\n\n",
  deep: (levels) => `data: {"choices":[{"index":0,"delta":{"content":"x","y":${nested(levels)}}}]}\n\n`,
  whole: (content, more = `"refusal":null`) =>
    JSON.stringify({
      ...chatBody({ usage: { completion_tokens: TOKENS } }),
      choices: [{ index: 0, message: { role: "assistant", content, hole: 0 }, finish_reason: "stop" }]
    }).replace(`"hole":0`, more),
  type: eventStream
}

const anthropicEnd = [
  named("content_block_stop", { index: 0 }),
  named("message_delta", {
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: TOKENS }
  })
]
const anthropic: DialectBytes = {
  begin: [
    named("message_start", {
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 9, output_tokens: 1 }
      }
    }),
    named("content_block_start", { index: 0, content_block: { type: "text", text: "" } })
  ],
  said: (text) => named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
  end: [...anthropicEnd, named("message_stop", {})],
  finished: anthropicEnd,
  ping: named("ping", {}),
  torn: `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","te\n\n`,
  error: "event: error\ndata: upstream aborted\n\n",
  deep: (levels) =>
    `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x","y":${nested(levels)}}}\n\n`,
  whole: (text, more = `"x":1`) =>
    JSON.stringify({
      id: "msg_1",
      role: "assistant",
      content: text === "" ? [] : [{ type: "text", text }],
      stop_reason: "end_turn",
      hole: 0,
      usage: { input_tokens: 9, output_tokens: TOKENS }
    }).replace(`"hole":0`, more),
  type: eventStream
}

const geminiUsage = { promptTokenCount: 9, candidatesTokenCount: TOKENS, totalTokenCount: 9 + TOKENS }
const geminiEnd = sse({ candidates: [{ content: { parts: [] }, finishReason: "STOP" }], usageMetadata: geminiUsage })
const gemini: DialectBytes = {
  begin: [],
  said: (text) => sse({ candidates: [{ content: { role: "model", parts: [{ text }] } }] }),
  end: [geminiEnd],
  finished: [geminiEnd],
  ping: ": ping\n\n",
  torn: `data: {"candidates":[{"content":{"parts":[{"text":"not \n\n`,
  error: "event: error\ndata: upstream aborted\n\n",
  deep: (levels) => `data: {"candidates":[{"content":{"parts":[{"text":"x","y":${nested(levels)}}]}}]}\n\n`,
  whole: (text, more = `"x":1`) =>
    JSON.stringify({
      candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", hole: 0 }],
      usageMetadata: geminiUsage
    }).replace(`"hole":0`, more),
  type: eventStream
}

const bedrockUsage = { inputTokens: 9, outputTokens: TOKENS, totalTokens: 9 + TOKENS }
const bedrock: DialectBytes = {
  begin: [bedrockEvent("messageStart", { role: "assistant" })],
  said: (text) => bedrockEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text } }),
  end: [bedrockEvent("messageStop", { stopReason: "end_turn" }), bedrockEvent("metadata", { usage: bedrockUsage })],
  finished: [bedrockEvent("messageStop", { stopReason: "end_turn" })],
  ping: bedrockEvent("ping", {}),
  torn: bedrockEvent("contentBlockDelta", "not "),
  error: exception("modelStreamErrorException", { message: "upstream aborted" }),
  deep: (levels) =>
    message(
      { ":message-type": "event", ":event-type": "contentBlockDelta" },
      `{"delta":{"text":"x","y":${nested(levels)}}}`
    ),
  whole: (text, more = `"x":1`) =>
    JSON.stringify({
      output: { message: { role: "assistant", content: text === "" ? [] : [{ text }] } },
      stopReason: "end_turn",
      hole: 0,
      usage: bedrockUsage
    }).replace(`"hole":0`, more),
  type: "application/vnd.amazon.eventstream"
}

const responsesEnd = responseEvent("response.completed", {
  response: responseBody([], { usage: { completion_tokens: TOKENS } })
})
const responses: DialectBytes = {
  begin: [responseEvent("response.created", { response: { id: "resp_1", status: "in_progress" } })],
  said: (delta) => responseEvent("response.output_text.delta", { output_index: 0, content_index: 0, delta }),
  end: [responsesEnd],
  finished: [responsesEnd],
  ping: responseEvent("keepalive"),
  torn: `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"not \n\n`,
  error: "event: error\ndata: upstream aborted\n\n",
  deep: (levels) => `data: {"type":"response.output_text.delta","delta":"x","y":${nested(levels)}}\n\n`,
  whole: (text, more = `"x":1`) =>
    JSON.stringify({
      ...responseBody([messageItem("", { content: [{ type: "output_text", text }], hole: 0 })], {
        usage: { completion_tokens: TOKENS }
      })
    }).replace(`"hole":0`, more),
  type: eventStream
}

/** `responses`: the OpenAI dialect by its other API. */
export const dialectBytes = { openai, responses, anthropic, gemini, bedrock } satisfies Partial<
  Record<DialectName | "responses", DialectBytes>
>

/** A stream of the dialect. */
export const streaming = (
  bytes: DialectBytes,
  chunks: NonNullable<Behaviour["chunks"]>,
  ending: Behaviour["ending"] = "end"
): Behaviour => ({ headers: { "content-type": bytes.type }, chunks, ending })

export const whole = (body: string): Behaviour => ({ headers: { "content-type": "application/json" }, body })

export const deepMember = (levels: number): string => `"x":${nested(levels)}`
