/**
 * OpenAI's Responses API, whole and streamed, as a second way of the OpenAI dialect: the offer of a
 * model tells by which API it is called. Its streams give the same guarantees as chat completions'.
 *
 * Request.ts lowers requests. Reply.ts and Stream.ts read responses.
 */
import { Effect, Redacted } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { decodeChat } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { makeOpenAi } from "../openai/OpenAi.ts"
import { type ChatCall, type Provider, type ProviderReason } from "../Provider.ts"
import { faultOf } from "../wire/Faults.ts"
import { type Transport } from "../transport/Transport.ts"
import { callIds } from "../wire/CallIds.ts"
import { refineReason } from "./Errors.ts"
import { readReply } from "./Reply.ts"
import { lowerRequest } from "./Request.ts"
import { makeReader } from "./Stream.ts"

/** A provider that serves both APIs. */
export const makeResponses = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const openAi = makeOpenAi(config, transport)
  const responses = transport.endpoint(config, "/responses")
  const maker = config.slug
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) => faultOf(config.slug, refineReason(reason), key)

  const lowered = ({ leftOut, offer, request }: ChatCall, stream: boolean) =>
    Effect.map(Effect.fromResult(lowerRequest(request, offer, maker, stream)), (lowered) => {
      if (lowered.leftOut.length > 0) leftOut?.(lowered.leftOut)
      return lowered.body
    })

  const chat: Provider["chat"] = Effect.fnUntraced(function* (call) {
    const { limitMs, request } = call
    const body = yield* lowered(call, false)
    const reply = yield* responses.post(body, limitMs ?? config.timeouts.totalMs)
    return yield* decodeChat(reply, (wire) => readReply(wire, { ids: callIds(request), maker }))
  }, Effect.mapError(fault))

  const chatStream: Provider["chatStream"] = Effect.fnUntraced(function* (call) {
    const body = yield* lowered(call, true)
    const asked = { ids: callIds(call.request), maker }
    return yield* openStream(responses, body, {
      makeReader: () => makeReader(asked),
      readWhole: (wire) => readReply(wire, asked),
      firstTokenMs: call.limitMs,
      fault
    })
  }, Effect.mapError(fault))

  return {
    ...openAi,
    chat: (call) => (call.offer.api === "responses" ? chat(call) : openAi.chat(call)),
    chatStream: (call) => (call.offer.api === "responses" ? chatStream(call) : openAi.chatStream(call))
  }
}
