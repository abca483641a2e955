/** Each dialect's answer "one two three" with usage chosen by the test, whole and as a stream. */
import { Effect, Stream } from "effect"
import { type ChatEvent, type ChatRequest } from "../../src/domain/Chat.ts"
import { type TokenUsage } from "../../src/domain/pricing/Money.ts"
import { makeAnthropic } from "../../src/providers/anthropic/Anthropic.ts"
import { makeBedrock } from "../../src/providers/bedrock/Bedrock.ts"
import { makeGemini } from "../../src/providers/gemini/Gemini.ts"
import { makeOpenAi } from "../../src/providers/openai/OpenAi.ts"
import { makeResponses } from "../../src/providers/responses/Responses.ts"
import { type Provider, type ProviderError } from "../../src/providers/Provider.ts"
import { chunkBody, DONE, sse } from "../support/upstream/Bodies.ts"
import { messageItem, responseBody, responseEvent } from "../support/upstream/ResponseBodies.ts"
import { event, offerOf, SONNET } from "./bedrock.ts"
import { config, offer, replay } from "./replayedTransport.ts"

const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: false }

/** `beside`: members of the reply, or of the stream's event with the usage, beside the usage. */
type UsageOf = (usage: unknown, beside?: object) => Effect.Effect<TokenUsage | null, ProviderError>

const byResponses = { ...offer, api: "responses" as const }

export interface Dialect {
  readonly name: string
  readonly whole: UsageOf
  readonly stream: UsageOf
}

const dialect = (
  name: string,
  make: (transport: ReturnType<typeof replay>) => Provider,
  body: (usage: unknown) => object,
  frames: (usage: unknown, beside: object) => ReadonlyArray<Buffer | string>,
  type = "text/event-stream"
): Dialect => {
  const asked = name === "bedrock" ? offerOf(SONNET) : name === "responses" ? byResponses : offer
  return {
    name,
    whole: (usage, beside = {}) =>
      make(replay({ chunks: [Buffer.from(JSON.stringify({ ...body(usage), ...beside }))], type: "application/json" }))
        .chat({ request, offer: asked })
        .pipe(Effect.map((reply) => reply.usage)),
    stream: (usage, beside = {}) =>
      make(replay({ chunks: frames(usage, beside).map((frame) => Buffer.from(frame)), type }))
        .chatStream({ request: { ...request, stream: true }, offer: asked })
        .pipe(
          Effect.flatMap((events) => Stream.runCollect(events.stream)),
          Effect.scoped,
          Effect.map((events) => endOf(Array.from(events)))
        )
  }
}

const endOf = (events: ReadonlyArray<ChatEvent>): TokenUsage | null => {
  const last = events.at(-1)
  return last?._tag === "End" ? last.usage : null
}

const TEXT = "one two three"

export const dialects: ReadonlyArray<Dialect> = [
  dialect(
    "openai",
    (transport) => makeOpenAi(config(), transport),
    (usage) => ({ choices: [{ message: { role: "assistant", content: TEXT }, finish_reason: "stop" }], usage }),
    (usage, beside) => [
      sse(chunkBody({ role: "assistant", content: TEXT })),
      sse({ ...chunkBody({}), choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
      sse({ choices: [], usage, ...beside }),
      DONE
    ]
  ),
  dialect(
    "anthropic",
    (transport) => makeAnthropic(config({ dialect: "anthropic" }), transport),
    (usage) => ({ content: [{ type: "text", text: TEXT }], stop_reason: "end_turn", usage }),
    (usage) => [
      sse({ type: "message_start", message: { usage } }),
      sse({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT } }),
      sse({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage }),
      sse({ type: "message_stop" })
    ]
  ),
  dialect(
    "gemini",
    (transport) => makeGemini(config({ dialect: "gemini" }), transport),
    (usage) => ({
      candidates: [{ content: { parts: [{ text: TEXT }] }, finishReason: "STOP" }],
      usageMetadata: usage
    }),
    (usage, beside) => [
      sse({ candidates: [{ content: { parts: [{ text: TEXT }] } }], usageMetadata: { promptTokenCount: 9 } }),
      sse({ candidates: [{ finishReason: "STOP" }], usageMetadata: usage, ...beside })
    ]
  ),
  dialect(
    "bedrock",
    (transport) => makeBedrock(config({ dialect: "bedrock" }), transport),
    (usage) => ({
      output: { message: { role: "assistant", content: [{ text: TEXT }] } },
      stopReason: "end_turn",
      usage
    }),
    (usage, beside) => [
      event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: TEXT } }),
      event("messageStop", { stopReason: "end_turn" }),
      event("metadata", { usage: usage as object, ...beside })
    ],
    "application/vnd.amazon.eventstream"
  ),
  dialect(
    "responses",
    (transport) => makeResponses(config(), transport),
    (usage) => ({ ...responseBody([messageItem(TEXT)]), usage }),
    (usage, beside) => [
      responseEvent("response.output_item.done", { output_index: 0, item: messageItem(TEXT) }),
      responseEvent("response.completed", { response: { ...responseBody([]), usage, ...beside } })
    ]
  )
]
