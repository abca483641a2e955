/**
 * Lowers a chat request to the Responses API. Nothing is stored at the vendor, so encrypted
 * reasoning is requested and travels with the conversation. Members that the API lacks are dropped
 * if they only tune sampling; others are `Unsupported`. Members unknown to the gateway are dropped,
 * because the API refuses unknown members.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { type CallBody } from "../transport/Transport.ts"
import { asksFor, leftOut, type Parameters } from "../wire/Parameters.ts"
import { effortOf, reasoningAsked } from "../wire/ReasoningAsked.ts"
import { sentJson } from "../wire/SentJson.ts"
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"
import { lowerMessages } from "./Input.ts"
import { type Lowered, unsupported } from "./Parts.ts"
import { formatOf, lowerTools } from "./Tools.ts"

export const responsesParameters: Parameters = {
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
  n: "refused",
  top_p: "mapped",
  stop: "refused",
  seed: "dropped",
  presence_penalty: "dropped",
  frequency_penalty: "dropped",
  logprobs: "mapped",
  top_logprobs: "mapped",
  logit_bias: "refused",
  tools: "mapped",
  tool_choice: "mapped",
  parallel_tool_calls: "mapped",
  reasoning_effort: "mapped",
  modalities: "refused",
  prediction: "dropped",
  service_tier: "mapped",
  reasoning: "mapped",
  thinking: "mapped",
  top_k: "dropped",
  verbosity: "mapped",
  cache_control: "dropped",
  web_search_options: "refused",
  prompt_cache_key: "mapped",
  safety_identifier: "mapped",
  session_id: "mapped"
}

/** The API refuses a smaller limit. */
export const LEAST_OUTPUT_TOKENS = 16

/** Members that the API takes in the same form. */
const same = [
  "metadata",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "top_logprobs",
  "user"
] as const

export interface LoweredRequest {
  readonly body: CallBody
  /** Members of the request that are not in the body. */
  readonly leftOut: ReadonlyArray<string>
}

/** `maker`: the provider's slug, for the reasoning that it made. */
export const lowerRequest = resultFn(function* (
  request: ChatRequest,
  offer: ModelOffer,
  maker: string,
  stream: boolean
): StepsOf<Lowered<LoweredRequest>> {
  yield* refusals(request)
  const format = yield* formatOf(request.response_format)
  // JSON without a schema needs the word in the input, and the API does not look into
  // instructions.
  const { input, instructions } = yield* lowerMessages(request.messages, maker, format?.["type"] !== "json_object")
  const tooling = yield* lowerTools(request)
  const reasoning = reasoningOf(request, offer)
  const isFixed = offer.hidesReasoning && reasoning["effort"] !== "none"
  const sampling = isFixed ? {} : membersOf(request, samplingMembers)
  const body = sentJson(
    {
      ...sessionOf(request),
      ...membersOf(request, same),
      model: offer.upstream,
      ...(instructions === null ? {} : { instructions }),
      input,
      ...tooling,
      ...textOf(format, request),
      ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
      ...sampling,
      ...limitOf(request),
      ...includeOf(request, offer),
      ...(stream ? streamOptions(request) : {}),
      store: false,
      stream
    },
    request.messages
  )
  const unsent = samplingMembers.filter((name) => asksFor(request, name) && !(name in sampling))
  return { body, leftOut: leftOut(request, responsesParameters, unsent, same) }
})

const sessionOf = ({ session_id }: ChatRequest) =>
  typeof session_id === "string" ? { prompt_cache_key: session_id } : {}

const samplingMembers = ["temperature", "top_p"]

/** Rejects members without which the answer would be another. */
const refusals = (request: ChatRequest): Lowered<void> => {
  const { logit_bias, modalities, n, stop } = request
  if ((n ?? 1) > 1) return unsupported("n", "only one choice per request is supported")
  if ((stop ?? "").length > 0) return unsupported("stop", "stop sequences are not supported")
  if (Object.keys(logit_bias ?? {}).length > 0) return unsupported("logit_bias", "token biases are not supported")
  if (modalities?.some((modality) => modality !== "text")) return unsupported("modalities", "only text is supported")
  if (isJsonRecord(request["web_search_options"])) {
    return unsupported("web_search_options", "the vendor's own tools are not supported")
  }
  return Result.succeed(undefined)
}

const membersOf = (request: ChatRequest, names: ReadonlyArray<string>): JsonRecord =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = request[name]
      return value === undefined || value === null ? [] : [[name, value]]
    })
  )

const textOf = (format: JsonRecord | null, request: ChatRequest): JsonRecord => {
  const verbosity = stringOf(request["verbosity"])
  return format === null && verbosity === null
    ? {}
    : { text: { ...(format === null ? {} : { format }), ...(verbosity === null ? {} : { verbosity }) } }
}

/**
 * Models whose reasoning can be switched off. Others refuse the effort `none`, which is sent to
 * them only in its own words.
 */
const takesNone = /^gpt-(?:5[.-][1-9]|[6-9]|[12]\d)(?!.*-(?:pro|codex))/

/**
 * A summary is requested only for a client that asks: the vendor refuses it to unverified accounts.
 */
const reasoningOf = (request: ChatRequest, { upstream }: ModelOffer): JsonRecord => {
  const asked = isJsonRecord(request["reasoning"]) ? request["reasoning"] : {}
  const wanted = reasoningAsked(request)
  const isOff = wanted?.effort === "none" && typeof request.reasoning_effort !== "string"
  const effort = wanted === null || (isOff && !takesNone.test(upstream)) ? null : effortOf(wanted)
  const summary = stringOf(asked["summary"])
  return { ...(effort === null ? {} : { effort }), ...(summary === null ? {} : { summary }) }
}

const limitOf = (request: ChatRequest): JsonRecord => {
  const limit = outputLimit(request)
  return limit === null ? {} : { max_output_tokens: Math.max(LEAST_OUTPUT_TOKENS, limit) }
}

/** Models that do not reason refuse to be asked for encrypted reasoning. */
const includeOf = ({ logprobs }: ChatRequest, { hidesReasoning }: ModelOffer): JsonRecord => {
  const include = [
    ...(hidesReasoning ? ["reasoning.encrypted_content"] : []),
    ...(logprobs === true ? ["message.output_text.logprobs"] : [])
  ]
  return include.length === 0 ? {} : { include }
}

const streamOptions = ({ stream_options }: ChatRequest): JsonRecord => {
  const padded = stream_options?.["include_obfuscation"]
  return typeof padded === "boolean" ? { stream_options: { include_obfuscation: padded } } : {}
}
