/**
 * The OpenAI dialect, which most vendors speak: chat completions, whole and streamed, and
 * embeddings. The request is sent as received, unknown members included, except for the model's
 * name, the members that only the gateway understands, and what the vendor is known to refuse
 * (Vendor.ts, Fit.ts, Messages.ts, Controls.ts). Long members go in the client's own text.
 *
 * A complete stream has one `End`, one finish reason and one role per choice, and an index per
 * parallel tool call. Cut, empty and erroneous answers fail. Stream.ts and Reply.ts read responses.
 */
import { Effect, Redacted, Result } from "effect"
import { type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { type EmbeddingRequest, inputsOf } from "../../domain/Embedding.ts"
import { decodeChat, decodeReply } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { type ChatCall, type Provider, type ProviderReason, Unsupported } from "../Provider.ts"
import { faultOf } from "../wire/Faults.ts"
import { type CallBody, type Transport } from "../transport/Transport.ts"
import { callIds } from "../wire/CallIds.ts"
import { type Parameters } from "../wire/Parameters.ts"
import { sentJson } from "../wire/SentJson.ts"
import { controlsFor } from "./Controls.ts"
import { fit } from "./Fit.ts"
import { messagesFor } from "./Messages.ts"
import { readEmbeddings, readReply } from "./Reply.ts"
import { makeReader } from "./Stream.ts"
import { type Vendor, vendorOf } from "./Vendor.ts"

/** Members that are not in this list are sent unchanged too. */
export const openAiParameters: Parameters = {
  model: "mapped",
  messages: "mapped",
  temperature: "mapped",
  max_tokens: "mapped",
  stream: "mapped",
  user: "mapped",
  metadata: "mapped",
  provider: "handled",
  response_format: "mapped",
  models: "handled",
  max_completion_tokens: "mapped",
  stream_options: "mapped",
  n: "mapped",
  top_p: "mapped",
  stop: "mapped",
  seed: "mapped",
  presence_penalty: "mapped",
  frequency_penalty: "mapped",
  logprobs: "mapped",
  top_logprobs: "mapped",
  logit_bias: "mapped",
  tools: "mapped",
  tool_choice: "mapped",
  parallel_tool_calls: "mapped",
  reasoning_effort: "mapped",
  modalities: "mapped",
  prediction: "mapped",
  service_tier: "mapped",
  reasoning: "mapped",
  thinking: "mapped",
  top_k: "mapped",
  verbosity: "mapped",
  cache_control: "mapped",
  web_search_options: "mapped",
  prompt_cache_key: "mapped",
  safety_identifier: "mapped",
  session_id: "mapped"
}

// lowering

const chatBody = (
  request: ChatRequest,
  offer: ModelOffer,
  config: ProviderConfig,
  vendor: Vendor | null,
  stream: boolean
): Result.Result<LoweredRequest, Unsupported> => {
  const fitted = fit(controlsFor(request, offer, vendor), request, offer, vendor, config)
  if (Result.isFailure(fitted)) return Result.fail(fitted.failure)
  const { leftOut, members } = fitted.success
  const {
    max_completion_tokens: _completion,
    max_tokens: _tokens,
    models: _models,
    provider: _provider,
    stream_options: _options,
    ...rest
  } = members
  const limit = outputLimit(request)
  const takesOptions = vendor?.refused?.includes("stream_options") !== true
  const sent = {
    ...rest,
    messages: messagesFor(request.messages, vendor, offer.upstream, config.slug),
    ...(limit === null ? {} : { [limitName(offer, config)]: limit }),
    ...(stream && takesOptions ? { stream_options: { ...request.stream_options, include_usage: true } } : {}),
    model: offer.upstream,
    stream
  }
  return Result.succeed({ body: sentJson(sent, request.messages), leftOut })
}

interface LoweredRequest {
  readonly body: CallBody
  /** Members of the request that are not in the body. */
  readonly leftOut: ReadonlyArray<string>
}

/**
 * Name of the output limit: `max_completion_tokens` at OpenAI, because its reasoning models reject
 * `max_tokens` wherever they are served under their own name; `max_tokens` at other servers.
 */
const limitName = ({ hidesReasoning, upstream }: ModelOffer, { baseUrl, parameters }: ProviderConfig) =>
  parameters?.limit ??
  (baseUrl.startsWith("https://api.openai.com/") ||
  (hidesReasoning && (baseUrl.includes(".azure.com/") || /^(?:o\d|gpt-)/.test(upstream)))
    ? "max_completion_tokens"
    : "max_tokens")

/** Asks for floats, because some vendors do not support base64. A base64 answer is read too. */
const embeddingBody = (request: EmbeddingRequest, offer: ModelOffer): string =>
  JSON.stringify({ ...request, model: offer.upstream, encoding_format: "float" })

// export

export const makeOpenAi = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const chat = transport.endpoint(config, "/chat/completions")
  const embeddings = transport.endpoint(config, "/embeddings")
  const vendor = vendorOf(config.baseUrl)
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) => faultOf(config.slug, reason, key)

  /** The body of a call, or the member that the vendor refuses. */
  const lowered = ({ leftOut, offer, request }: ChatCall, stream: boolean): CallBody | Unsupported => {
    const lowered = chatBody(request, offer, config, vendor, stream)
    if (Result.isFailure(lowered)) return lowered.failure
    if (lowered.success.leftOut.length > 0) leftOut?.(lowered.success.leftOut)
    return lowered.success.body
  }

  return {
    config,
    keepsLimits: true,
    takesTokenIds: true,
    chat: (call) => {
      const { limitMs, request } = call
      const body = lowered(call, false)
      if (body instanceof Unsupported) return Effect.fail(fault(body))
      return Effect.matchEffect(chat.post(body, limitMs ?? config.timeouts.totalMs), {
        onFailure: (reason) => Effect.fail(fault(reason)),
        onSuccess: (reply) => {
          const read = decodeChat(reply, (body) => readReply(body, callIds(request), config.slug))
          return Effect.mapErrorEager(read, fault)
        }
      })
    },
    chatStream: (call) => {
      const { limitMs, request } = call
      const body = lowered(call, true)
      if (body instanceof Unsupported) return Effect.fail(fault(body))
      return openStream(chat, body, {
        makeReader: () => makeReader(request.n ?? 1, callIds(request), config.slug),
        readWhole: (body) => readReply(body, callIds(request), config.slug),
        firstTokenMs: limitMs,
        fault
      }).pipe(Effect.mapError(fault))
    },
    embed: ({ offer, request }) =>
      embeddings.post(embeddingBody(request, offer), config.timeouts.totalMs).pipe(
        Effect.flatMap((reply) => decodeReply(reply, (body) => readEmbeddings(body, inputsOf(request.input).length))),
        Effect.mapError(fault)
      )
  }
}
