/**
 * OpenAI's Responses API, whole and streamed, as a second way of the OpenAI dialect: the offer of a
 * model tells by which API it is called. Its streams give the same guarantees as chat completions'.
 *
 * Request.ts lowers requests, and Native.ts fits those of clients of this API. Reply.ts and
 * Stream.ts read responses.
 */
import { Effect, Redacted } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { outputLimit } from "../../domain/Chat.ts"
import { decodeChat, type Refusals } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { makeOpenAi } from "../openai/OpenAi.ts"
import { type ChatCall, type Provider, type ProviderReason, type Unsupported } from "../Provider.ts"
import { faultOf } from "../wire/Faults.ts"
import { type JsonRecord } from "../wire/Json.ts"
import { type NativeEvents } from "../wire/NativeEvents.ts"
import { nativeRefusals } from "../wire/NativeRefusals.ts"
import { type CallBody, type CallHeaders, type Transport } from "../transport/Transport.ts"
import { callIds } from "../wire/CallIds.ts"
import { refineReason } from "./Errors.ts"
import { nativeBody, nativeEvents, nativeHeaders, withNativeBody } from "./Native.ts"
import { type Asked, readReply } from "./Reply.ts"
import { lowerRequest } from "./Request.ts"
import { makeReader } from "./Stream.ts"

/** A request as it is sent. `events`: null for a request that was translated. */
interface Sent {
  readonly asked: Asked
  readonly body: CallBody
  readonly headers: CallHeaders | undefined
  readonly events: NativeEvents | null
}

const refusalsOf = ({ events }: Sent): Refusals | undefined => (events === null ? undefined : nativeRefusals)

/** A provider that serves both APIs. */
export const makeResponses = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const openAi = makeOpenAi(config, transport)
  const responses = transport.endpoint(config, "/responses")
  const maker = config.slug
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) => faultOf(config.slug, refineReason(reason), key)

  /** The body and the headers of a call, and what its readers need. */
  const lowered = (
    { leftOut, native, offer, request }: ChatCall,
    stream: boolean
  ): Effect.Effect<Sent, Unsupported> => {
    const asked = { ids: callIds(request), maker }
    if (native !== undefined) {
      const body = nativeBody(native, { limitTokens: outputLimit(request), maker, offer, stream })
      return Effect.succeed({ asked, body, headers: nativeHeaders(native, config), events: nativeEvents(maker) })
    }
    return Effect.map(Effect.fromResult(lowerRequest(request, offer, maker, stream)), (lowered) => {
      if (lowered.leftOut.length > 0) leftOut?.(lowered.leftOut)
      return { asked, body: lowered.body, headers: undefined, events: null }
    })
  }

  const read =
    ({ asked, events }: Sent) =>
    (wire: JsonRecord) =>
      events === null ? readReply(wire, asked) : withNativeBody(readReply(wire, asked), wire, maker)

  const chat: Provider["chat"] = Effect.fnUntraced(function* (call) {
    const sent = yield* lowered(call, false)
    const reply = yield* responses.post(sent.body, call.limitMs ?? config.timeouts.totalMs, sent.headers)
    return yield* decodeChat(reply, read(sent), refusalsOf(sent))
  }, Effect.mapError(fault))

  const chatStream: Provider["chatStream"] = Effect.fnUntraced(function* (call) {
    const sent = yield* lowered(call, true)
    return yield* openStream(responses, sent.body, {
      makeReader: () => makeReader(sent.asked, sent.events),
      readWhole: read(sent),
      firstTokenMs: call.limitMs,
      headers: sent.headers,
      refusals: refusalsOf(sent),
      fault
    })
  }, Effect.mapError(fault))

  return {
    ...openAi,
    chat: (call) => (call.offer.api === "responses" ? chat(call) : openAi.chat(call)),
    chatStream: (call) => (call.offer.api === "responses" ? chatStream(call) : openAi.chatStream(call))
  }
}
