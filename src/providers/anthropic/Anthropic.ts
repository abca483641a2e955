/**
 * The Anthropic dialect: the Messages API, whole and streamed. Its streams give the same guarantees
 * as the OpenAI dialect's. Features that the API lacks, such as embeddings, fail with `Unsupported`
 * (see `anthropicParameters`).
 *
 * Request.ts lowers requests. Reply.ts and Stream.ts read responses.
 */
import { Effect, Redacted } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { outputLimit } from "../../domain/Chat.ts"
import { decodeChat, decodeReply, type Refusals } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { type ChatCall, Malformed, type Provider, type ProviderReason, Unsupported } from "../Provider.ts"
import { faultOf } from "../wire/Faults.ts"
import { countOf, type JsonRecord } from "../wire/Json.ts"
import { type NativeEvents } from "../wire/NativeEvents.ts"
import { nativeRefusals } from "../wire/NativeRefusals.ts"
import { type CallBody, type CallHeaders, type Transport } from "../transport/Transport.ts"
import { refineReason } from "./Errors.ts"
import { thoughtMaker } from "./Model.ts"
import { countBody, nativeBody, nativeEvents, nativeHeaders, withNativeBody } from "./Native.ts"
import { readReply, type RequestFacts } from "./Reply.ts"
import { lowerRequest } from "./Request.ts"
import { makeReader } from "./Stream.ts"
import { callIds } from "../wire/CallIds.ts"

const API_VERSION = "2023-06-01"

/** A request as it is sent. `events`: null for a request that was translated. */
interface Lowered {
  readonly asked: RequestFacts
  readonly body: CallBody
  readonly headers?: CallHeaders
  readonly events: NativeEvents | null
}

const refusalsOf = ({ events }: Lowered): Refusals | undefined => (events === null ? undefined : nativeRefusals)

/**
 * Sends a key without a configured header in `x-api-key`. Configured headers override
 * `anthropic-version`. The base URL may end before or after the version, because the vendor's
 * libraries take it without.
 */
export const makeAnthropic = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const versioned: ProviderConfig = {
    ...config,
    auth: config.auth.type === "bearer" ? { type: "header", name: "x-api-key" } : config.auth,
    headers: { "anthropic-version": API_VERSION, ...config.headers }
  }
  const path = /\/v\d+$/.test(config.baseUrl) ? "/messages" : "/v1/messages"
  const messages = transport.endpoint(versioned, path)
  const counts = transport.endpoint(versioned, `${path}/count_tokens`)
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) => faultOf(config.slug, refineReason(reason), key)

  /** The body and the headers of a call, and what its readers need. */
  const lowered = (call: ChatCall, stream: boolean): Effect.Effect<Lowered, Unsupported> => {
    const { leftOut, native, offer, request } = call
    const maker = thoughtMaker(config.slug, offer.upstream)
    const asked: RequestFacts = { answersByTool: false, ids: callIds(request), maker }
    if (native !== undefined) {
      const limitTokens = outputLimit(request)
      return Effect.succeed({
        asked,
        body: nativeBody(native, { config, limitTokens, maker, offer, stream }),
        headers: nativeHeaders(native, config),
        events: nativeEvents(maker)
      })
    }
    return Effect.map(Effect.fromResult(lowerRequest(request, offer, { maker, stream })), (body) => {
      if (body.leftOut.length > 0) leftOut?.(body.leftOut)
      return { asked: { ...asked, answersByTool: body.answersByTool }, body: body.body, events: null }
    })
  }

  const read =
    ({ asked, events }: Lowered) =>
    (wire: JsonRecord) => {
      const reply = readReply(wire, asked)
      return events === null ? reply : withNativeBody(reply, wire, asked.maker)
    }

  return {
    config,
    keepsLimits: true,
    chat: Effect.fnUntraced(function* (call) {
      const sent = yield* lowered(call, false)
      const reply = yield* messages.post(sent.body, call.limitMs ?? config.timeouts.totalMs, sent.headers)
      return yield* decodeChat(reply, read(sent), refusalsOf(sent))
    }, Effect.mapError(fault)),
    chatStream: Effect.fnUntraced(function* (call) {
      const sent = yield* lowered(call, true)
      return yield* openStream(messages, sent.body, {
        makeReader: () => makeReader(sent.asked, call.promptUsage, sent.events),
        readWhole: read(sent),
        firstTokenMs: call.limitMs,
        headers: sent.headers,
        refusals: refusalsOf(sent),
        fault
      })
    }, Effect.mapError(fault)),
    countTokens: Effect.fnUntraced(function* ({ limitMs, native, offer }) {
      const maker = thoughtMaker(config.slug, offer.upstream)
      const reply = yield* counts.post(countBody(native, { maker, offer }), limitMs, nativeHeaders(native, config))
      return yield* decodeReply(
        reply,
        ({ input_tokens: tokens }) => countOf(tokens) ?? new Malformed({ detail: "a count without its number" })
      )
    }, Effect.mapError(fault)),
    embed: ({ offer }) =>
      Effect.fail(fault(new Unsupported({ param: "model", message: `${offer.id}: the Messages API does not embed` })))
  }
}
