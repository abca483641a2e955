/**
 * The Amazon Bedrock dialect: chat through Converse and ConverseStream, which are the same for all
 * models, and embeddings through InvokeModel. The model is part of the path. The provider's key is
 * a pair of AWS keys, which sign each call, or a Bedrock API key. `bedrockParameters` lists the
 * supported parameters.
 */
import { Effect, Redacted } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { decodeChat } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { type Provider, ProviderError, type ProviderReason } from "../Provider.ts"
import { redactReason } from "../wire/ErrorMapping.ts"
import { type Endpoint, type Transport } from "../transport/Transport.ts"
import { embed } from "./Embedding.ts"
import { bedrockEndpoints } from "./Endpoint.ts"
import { BedrockFrames } from "./Frames.ts"
import { readReply } from "./Reply.ts"
import { callIds } from "../wire/CallIds.ts"
import { lowerChat } from "./Request.ts"
import { makeReader } from "./Stream.ts"

export const makeBedrock = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const endpointOf = bedrockEndpoints(config, transport)
  const known = new Map<string, Endpoint>()
  const endpoint = (upstream: string, operation: "converse" | "converse-stream" | "invoke"): Endpoint => {
    const path = `/model/${encodeURIComponent(upstream)}/${operation}`
    const made = known.get(path) ?? endpointOf(path)
    known.set(path, made)
    return made
  }
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) =>
    new ProviderError({ provider: config.slug, reason: redactReason(reason, key) })

  return {
    config,
    keepsLimits: true,
    chat: Effect.fnUntraced(function* ({ limitMs, offer, request }) {
      const { answerTool, body } = yield* Effect.fromResult(lowerChat(request, offer))
      const reply = yield* endpoint(offer.upstream, "converse").post(body, limitMs ?? config.timeouts.totalMs)
      return yield* decodeChat(reply, readReply(answerTool, callIds(request)))
    }, Effect.mapError(fault)),
    chatStream: Effect.fnUntraced(function* ({ limitMs, offer, request }) {
      const { answerTool, body } = yield* Effect.fromResult(lowerChat(request, offer))
      return yield* openStream(endpoint(offer.upstream, "converse-stream"), body, {
        makeReader: () => makeReader(answerTool, callIds(request)),
        makeFrames: () => new BedrockFrames(),
        readWhole: readReply(answerTool, callIds(request)),
        firstTokenMs: limitMs,
        fault
      })
    }, Effect.mapError(fault)),
    embed: ({ offer, request }) =>
      embed(endpoint(offer.upstream, "invoke"), request, offer, config.timeouts.totalMs).pipe(Effect.mapError(fault))
  }
}
