/**
 * The OpenAI dialect, which most vendors speak: chat completions whole and streamed, and embeddings. The request goes
 * out as the client sent it, unknown members included, but for the model's name and what only the gateway understands.
 * It promises one `End` a complete stream, one finish reason and one role a choice, and indexes that tell parallel tool
 * calls apart; it refuses to pass a cut, empty or erroneous answer off as a good one. OpenAiStream and OpenAiReply read
 * what comes back.
 */
import { Effect, Redacted } from "effect"
import { type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { decodeChat, decodeReply } from "../wire/Decode.ts"
import { openStream } from "../wire/EventStream.ts"
import { type Provider, ProviderError, type ProviderReason } from "../Provider.ts"
import { presentable } from "../wire/ErrorMapping.ts"
import { type Transport } from "../transport/Transport.ts"
import { callIds } from "../wire/CallIds.ts"
import { type Parameters } from "../wire/Parameters.ts"
import { readEmbeddings, readReply } from "./Reply.ts"
import { makeReader } from "./Stream.ts"

/** Members that this list does not name go out unchanged too. */
export const openAiParameters: Parameters = {
  model: "mapped",
  messages: "mapped",
  temperature: "mapped",
  max_tokens: "mapped",
  stream: "mapped",
  user: "mapped",
  metadata: "mapped",
  provider: "dropped",
  response_format: "mapped",
  models: "dropped",
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
  service_tier: "mapped"
}

// lowering

const chatBody = (request: ChatRequest, offer: ModelOffer, config: ProviderConfig, stream: boolean): string => {
  const {
    max_completion_tokens: _completion,
    max_tokens: _tokens,
    models: _models,
    provider: _provider,
    stream_options,
    ...rest
  } = request
  const limit = outputLimit(request)
  return JSON.stringify({
    ...rest,
    ...(limit === null ? {} : { [limitName(offer, config)]: limit }),
    ...(stream ? { stream_options: { ...stream_options, include_usage: true } } : {}),
    model: offer.upstream,
    stream
  })
}

/**
 * What the output limit is called: `max_tokens` at most servers, `max_completion_tokens` at OpenAI's, whose models that think refuse
 * the former wherever they are served under their own name.
 */
const limitName = ({ hidesReasoning, upstream }: ModelOffer, { baseUrl }: ProviderConfig) =>
  baseUrl.startsWith("https://api.openai.com/") ||
  (hidesReasoning && (baseUrl.includes(".azure.com/") || /^(?:o\d|gpt-)/.test(upstream)))
    ? "max_completion_tokens"
    : "max_tokens"

/** Floats, because not every vendor knows base64; a base64 answer is understood all the same. */
const embeddingBody = (request: EmbeddingRequest, offer: ModelOffer): string =>
  JSON.stringify({ ...request, model: offer.upstream, encoding_format: "float" })

// export

export const makeOpenAi = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const chat = transport.endpoint(config, "/chat/completions")
  const embeddings = transport.endpoint(config, "/embeddings")
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) =>
    new ProviderError({ provider: config.slug, reason: presentable(reason, key) })

  return {
    config,
    keepsLimits: true,
    chat: ({ limitMs, offer, request }) =>
      chat.post(chatBody(request, offer, config, false), { wholeMs: limitMs ?? config.timeouts.totalMs }).pipe(
        Effect.flatMap((reply) => decodeChat(reply, (body) => readReply(body, callIds(request)))),
        Effect.mapError(fault)
      ),
    chatStream: ({ offer, request }) =>
      openStream(chat, chatBody(request, offer, config, true), {
        makeReader: () => makeReader(request.n ?? 1, callIds(request)),
        readWhole: (body) => readReply(body, callIds(request)),
        fault
      }).pipe(Effect.mapError(fault)),
    embed: ({ offer, request }) =>
      embeddings.post(embeddingBody(request, offer), config.timeouts.firstTokenMs).pipe(
        Effect.flatMap((reply) =>
          decodeReply(reply, (body) =>
            readEmbeddings(body, typeof request.input === "string" ? 1 : request.input.length)
          )
        ),
        Effect.mapError(fault)
      )
  }
}
