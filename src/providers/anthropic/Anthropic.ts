/**
 * The Anthropic dialect: the Messages API, whole and streamed. It promises what the OpenAI dialect does of its streams,
 * and refuses with `Unsupported` what the API cannot express (see `anthropicParameters`), embeddings among it.
 * AnthropicRequest lowers requests; AnthropicReply and AnthropicStream read what comes back.
 */
import { Effect, Redacted } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { decodeChat } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { type Provider, ProviderError, type ProviderReason, Unsupported } from "../Provider.ts"
import { presentable } from "../wire/ErrorMapping.ts"
import { type Transport } from "../transport/Transport.ts"
import { refined } from "./Errors.ts"
import { readReply } from "./Reply.ts"
import { lowerRequest } from "./Request.ts"
import { makeReader } from "./Stream.ts"
import { callIds } from "../wire/CallIds.ts"

const API_VERSION = "2023-06-01"

/**
 * A key without a header of its own goes into `x-api-key`, and a configured header wins over ours. The base URL may end
 * before or after the version: the vendor's own libraries take it without.
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
    new ProviderError({ provider: config.slug, reason: presentable(refined(reason), key) })

  return {
    config,
    keepsLimits: true,
    chat: Effect.fnUntraced(function* ({ limitMs, offer, request }) {
      const { answersByTool, body } = yield* Effect.fromResult(lowerRequest(request, offer, false))
      const reply = yield* messages.post(body, { wholeMs: limitMs ?? config.timeouts.totalMs })
      return yield* decodeChat(reply, (wire) => readReply(wire, answersByTool, callIds(request)))
    }, Effect.mapError(fault)),
    chatStream: Effect.fnUntraced(function* ({ offer, request }) {
      const { answersByTool, body } = yield* Effect.fromResult(lowerRequest(request, offer, true))
      return yield* openStream(messages, body, {
        makeReader: () => makeReader(answersByTool, callIds(request)),
        readWhole: (wire) => readReply(wire, answersByTool, callIds(request)),
        fault
      })
    }, Effect.mapError(fault)),
    embed: ({ offer }) =>
      Effect.fail(fault(new Unsupported({ param: "model", message: `${offer.id}: the Messages API does not embed` })))
  }
}
