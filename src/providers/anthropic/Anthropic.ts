/**
 * The Anthropic dialect: the Messages API, whole and streamed. Its streams give the same guarantees
 * as the OpenAI dialect's. Features that the API lacks, such as embeddings, fail with `Unsupported`
 * (see `anthropicParameters`).
 *
 * Request.ts lowers requests. Reply.ts and Stream.ts read responses.
 */
import { Effect, Redacted } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { decodeChat } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { type ChatCall, type Provider, ProviderError, type ProviderReason, Unsupported } from "../Provider.ts"
import { redactReason } from "../wire/ErrorMapping.ts"
import { type Transport } from "../transport/Transport.ts"
import { refineReason } from "./Errors.ts"
import { thoughtMaker } from "./Model.ts"
import { readReply, type RequestFacts } from "./Reply.ts"
import { lowerRequest } from "./Request.ts"
import { makeReader } from "./Stream.ts"
import { callIds } from "../wire/CallIds.ts"

const API_VERSION = "2023-06-01"

/**
 * Sends a key without a configured header in `x-api-key`. Configured headers override
 * `anthropic-version`. The base URL may end before or after the version, because the vendor's
 * libraries take it without.
 */
export const makeAnthropic = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const messages = transport.endpoint(
    {
      ...config,
      auth: config.auth.type === "bearer" ? { type: "header", name: "x-api-key" } : config.auth,
      headers: { "anthropic-version": API_VERSION, ...config.headers }
    },
    /\/v\d+$/.test(config.baseUrl) ? "/messages" : "/v1/messages"
  )
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) =>
    new ProviderError({ provider: config.slug, reason: redactReason(refineReason(reason), key) })

  /** The body of a call, and the facts that its readers need. */
  const lowered = ({ leftOut, offer, request }: ChatCall, stream: boolean) => {
    const maker = thoughtMaker(config.slug, offer.upstream)
    return Effect.map(Effect.fromResult(lowerRequest(request, offer, { maker, stream })), (body) => {
      if (body.leftOut.length > 0) leftOut?.(body.leftOut)
      const asked: RequestFacts = { answersByTool: body.answersByTool, ids: callIds(request), maker }
      return { asked, body: body.body }
    })
  }

  return {
    config,
    keepsLimits: true,
    chat: Effect.fnUntraced(function* (call) {
      const { asked, body } = yield* lowered(call, false)
      const reply = yield* messages.post(body, call.limitMs ?? config.timeouts.totalMs)
      return yield* decodeChat(reply, (wire) => readReply(wire, asked))
    }, Effect.mapError(fault)),
    chatStream: Effect.fnUntraced(function* (call) {
      const { asked, body } = yield* lowered(call, true)
      return yield* openStream(messages, body, {
        makeReader: () => makeReader(asked, call.promptUsage),
        readWhole: (wire) => readReply(wire, asked),
        firstTokenMs: call.limitMs,
        fault
      })
    }, Effect.mapError(fault)),
    embed: ({ offer }) =>
      Effect.fail(fault(new Unsupported({ param: "model", message: `${offer.id}: the Messages API does not embed` })))
  }
}
