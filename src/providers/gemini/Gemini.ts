/**
 * The Gemini dialect: `generateContent`, whole and streamed, and `batchEmbedContents` of Google's
 * generative language API. Request.ts lowers requests; Reply.ts and Stream.ts read answers. Calls
 * without an id get one, reasoning is separate from content, and usage counts thinking as
 * completion. Features that Gemini lacks (see `geminiParameters`) are rejected before anything is
 * sent.
 */
import { Effect, Redacted } from "effect"
import { type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { decodeChat, decodeReply } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { type ChatCall, type Provider, type ProviderReason } from "../Provider.ts"
import { faultOf } from "../wire/Faults.ts"
import { type Endpoint, type Transport } from "../transport/Transport.ts"
import { callsBefore } from "../wire/CallIds.ts"
import { batchesOf, joinReplies, readEmbeddings } from "./Embeddings.ts"
import { googleRefusals } from "./Errors.ts"
import { type RequestFacts, readReply } from "./Reply.ts"
import { SseFrames } from "../wire/SseFrames.ts"
import { type ThoughtMaker } from "../wire/Thoughts.ts"
import { chatBody } from "./Request.ts"
import { geminiMaker } from "./Signatures.ts"
import { makeReader } from "./Stream.ts"

/** A tuned model has a full resource name already. */
const resourceOf = ({ upstream }: ModelOffer): string => (upstream.includes("/") ? upstream : `models/${upstream}`)

const askedOf = ({ messages, n, parallel_tool_calls }: ChatRequest, maker: ThoughtMaker): RequestFacts => ({
  candidates: n ?? 1,
  parallelCalls: parallel_tool_calls !== false,
  callsBefore: callsBefore(messages),
  maker
})

/** In UTF-16 code units. An event holds an image whole. */
const EVENT_LIMIT = 24 * 1024 * 1024

/**
 * Sends a key without a configured header in `x-goog-api-key`: Google accepts only OAuth tokens in
 * `authorization`.
 */
export const makeGemini = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) => faultOf(config.slug, reason, key)

  const sent: ProviderConfig =
    config.auth.type === "bearer" ? { ...config, auth: { type: "header", name: "x-goog-api-key" } } : config
  const root = /\/v\d\w*$/.test(config.baseUrl) ? "" : "/v1beta"

  // The model is part of the path, so each method has one endpoint per model.
  const endpoints = new Map<string, Endpoint>()
  const endpointOf = (offer: ModelOffer, method: string): Endpoint => {
    const path = `${root}/${resourceOf(offer).split("/").map(encodeURIComponent).join("/")}:${method}`
    const endpoint = endpoints.get(path) ?? transport.endpoint(sent, path)
    endpoints.set(path, endpoint)
    return endpoint
  }

  const maker = geminiMaker(config.slug)
  const bodyOf = ({ leftOut, offer, request }: ChatCall) =>
    Effect.map(Effect.fromResult(chatBody(request, offer, maker)), (lowered) => {
      if (lowered.leftOut.length > 0) leftOut?.(lowered.leftOut)
      return lowered.body
    })

  return {
    config,
    // A whole reply's first byte comes after its last token, so `post` enforces the tighter limit
    // of the router.
    keepsLimits: true,
    chat: (call) =>
      bodyOf(call).pipe(
        Effect.flatMap((body) =>
          endpointOf(call.offer, "generateContent").post(body, call.limitMs ?? config.timeouts.totalMs)
        ),
        Effect.flatMap((reply) =>
          decodeChat(reply, (body) => readReply(body, askedOf(call.request, maker)), googleRefusals)
        ),
        Effect.mapError(fault)
      ),
    chatStream: (call) =>
      bodyOf(call).pipe(
        Effect.flatMap((body) => {
          const asked = askedOf(call.request, maker)
          return openStream(endpointOf(call.offer, "streamGenerateContent?alt=sse"), body, {
            makeReader: () => makeReader(asked, call.promptUsage),
            makeFrames: () => new SseFrames(EVENT_LIMIT),
            readWhole: (reply) => readReply(reply, asked),
            firstTokenMs: call.limitMs,
            refusals: googleRefusals,
            fault
          })
        }),
        Effect.mapError(fault)
      ),
    embed: ({ offer, request }) =>
      Effect.forEach(batchesOf(request, resourceOf(offer)), ({ body, size }) =>
        endpointOf(offer, "batchEmbedContents")
          .post(body, config.timeouts.totalMs)
          .pipe(
            Effect.flatMap((reply) =>
              decodeReply(
                reply,
                (answered) => readEmbeddings(answered, size, typeof request.dimensions === "number"),
                googleRefusals
              )
            )
          )
      ).pipe(Effect.map(joinReplies), Effect.mapError(fault))
  }
}
