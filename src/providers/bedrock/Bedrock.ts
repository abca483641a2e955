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
import { type ChatCall, type Provider, type ProviderReason } from "../Provider.ts"
import { faultOf } from "../wire/Faults.ts"
import { type Endpoint, type Transport } from "../transport/Transport.ts"
import { embed } from "./Embedding.ts"
import { bedrockEndpoints } from "./Endpoint.ts"
import { BedrockFrames } from "./Frames.ts"
import { thoughtMaker } from "../anthropic/Model.ts"
import { readReply, type RequestFacts } from "./Reply.ts"
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
  const fault = (reason: ProviderReason) => faultOf(config.slug, reason, key)

  /** The body of a call, and the facts that its readers need. */
  const lowered = ({ leftOut, offer, request }: ChatCall) =>
    Effect.map(Effect.fromResult(lowerChat(request, offer, config.slug)), (lowered) => {
      if (lowered.leftOut.length > 0) leftOut?.(lowered.leftOut)
      const maker = thoughtMaker(config.slug, offer.upstream)
      const asked: RequestFacts = { answerTool: lowered.answerTool, ids: callIds(request), maker }
      return { asked, body: lowered.body }
    })

  return {
    config,
    keepsLimits: true,
    chat: Effect.fnUntraced(function* (call) {
      const { limitMs, offer } = call
      const { asked, body } = yield* lowered(call)
      const reply = yield* endpoint(offer.upstream, "converse").post(body, limitMs ?? config.timeouts.totalMs)
      return yield* decodeChat(reply, readReply(asked))
    }, Effect.mapError(fault)),
    chatStream: Effect.fnUntraced(function* (call) {
      const { asked, body } = yield* lowered(call)
      return yield* openStream(endpoint(call.offer.upstream, "converse-stream"), body, {
        makeReader: () => makeReader(asked),
        makeFrames: () => new BedrockFrames(),
        readWhole: readReply(asked),
        firstTokenMs: call.limitMs,
        fault
      })
    }, Effect.mapError(fault)),
    embed: ({ offer, request }) =>
      embed(endpoint(offer.upstream, "invoke"), request, offer, config.timeouts.totalMs).pipe(Effect.mapError(fault))
  }
}
