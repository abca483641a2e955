/**
 * Lowers a chat request to the Messages API. The models differ in what they accept. Members that a
 * model would reject are dropped if they only tune sampling; others are `Unsupported`.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { lowerMessages } from "./Messages.ts"
import { claudeModel, type ClaudeModel } from "./Model.ts"
import { cached, textBlock } from "./Parts.ts"
import { lowerThinking, type Thinking } from "./Thinking.ts"
import { ANSWER_TOOL, lowerTools, type Tooling } from "./Tools.ts"
import { type CallBody } from "../transport/Transport.ts"
import { countOf, isJsonRecord } from "../wire/Json.ts"
import { asksFor, leftOut, type Parameters } from "../wire/Parameters.ts"
import { type ReasoningAsked, reasoningAsked, reasoningMembers } from "../wire/ReasoningAsked.ts"
import { sentJson } from "../wire/SentJson.ts"
import { type ThoughtMaker } from "../wire/Thoughts.ts"

export const anthropicParameters: Parameters = {
  model: "mapped",
  messages: "mapped",
  temperature: "mapped",
  max_tokens: "mapped",
  stream: "mapped",
  user: "mapped",
  metadata: "dropped",
  provider: "handled",
  response_format: "mapped",
  models: "handled",
  max_completion_tokens: "mapped",
  stream_options: "handled",
  n: "refused",
  top_p: "mapped",
  stop: "mapped",
  seed: "dropped",
  presence_penalty: "dropped",
  frequency_penalty: "dropped",
  logprobs: "refused",
  top_logprobs: "refused",
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
  top_k: "mapped",
  verbosity: "dropped",
  cache_control: "mapped",
  web_search_options: "refused",
  prompt_cache_key: "dropped",
  safety_identifier: "dropped",
  session_id: "dropped"
}

/**
 * The API requires a limit. For a request without one, the gateway reserves the cost of this many
 * tokens.
 */
const DEFAULT_MAX_TOKENS = 4_096
/** The most that the gateway reserves the cost of where neither request nor model has a limit. */
const MAX_UNASKED_TOKENS = 16_384
const MAX_TEMPERATURE = 1
/** Added to a thinking budget if the request sets no limit. */
const ANSWER_TOKENS = 4_096

export interface LoweredRequest {
  readonly body: CallBody
  /** Members of the request that are not in the body. */
  readonly leftOut: ReadonlyArray<string>
  /** The content comes as the arguments of `ANSWER_TOOL`. */
  readonly answersByTool: boolean
}

export const lowerRequest = resultFn(function* (
  request: ChatRequest,
  offer: ModelOffer,
  { maker, stream }: { readonly maker: ThoughtMaker; readonly stream: boolean }
): StepsOf<Result.Result<LoweredRequest, Unsupported>> {
  yield* refusals(request)
  const claude = claudeModel(offer.upstream)
  const conversation = yield* lowerMessages(request.messages, claude.thinking === "none" ? null : maker)
  const { isPrefilled, lacksThoughts, system, turns } = conversation
  if (isPrefilled && !claude.prefill) {
    return yield* unsupported("messages", "this model does not continue from a trailing assistant message")
  }
  const tooling = yield* lowerTools(request, claude, isPrefilled)
  const { isForced } = tooling
  const asked = reasoningAsked(request)
  const limit = limitOf(request, offer, asked)
  const thinking = yield* lowerThinking(asked, claude, limit, { isForced, isPrefilled, lacksThoughts })
  const stops = yield* stopsOf(request)
  const sampling = thinking.isAsked ? {} : samplingOf(request, claude)
  const tier = tierOf(request)
  const instructions = [...system, ...textBlock(tooling.instruction ?? "")]
  const body = {
    model: offer.upstream,
    max_tokens: limit,
    ...(instructions.length === 0 ? {} : { system: instructions }),
    messages: turns,
    ...(tooling.tools.length === 0 ? {} : { tools: tooling.tools }),
    ...(tooling.choice === null ? {} : { tool_choice: tooling.choice }),
    ...(thinking.thinking === null ? {} : { thinking: thinking.thinking }),
    ...outputConfig(thinking, tooling),
    ...sampling,
    ...(stops.length === 0 ? {} : { stop_sequences: stops }),
    ...(request.user === undefined || request.user === null ? {} : { metadata: { user_id: request.user } }),
    ...tier,
    ...cached({}, request),
    stream
  }
  const answersByTool = tooling.tools.some(({ name }) => name === ANSWER_TOOL)
  const isSilent = asked !== null && asked.effort !== "none" && thinking.thinking === null && thinking.effort === null
  const unsent = [
    ...samplingMembers.filter((name) => asksFor(request, name) && !(name in sampling)),
    ...(isSilent ? reasoningMembers.filter((name) => asksFor(request, name)) : []),
    ...(asksFor(request, "service_tier") && !("service_tier" in tier) ? ["service_tier"] : []),
    ...(tooling.lacksStrict ? ["tools.strict"] : [])
  ]
  return {
    body: sentJson(body, request.messages),
    answersByTool,
    leftOut: leftOut(request, anthropicParameters, unsent)
  }
})

const samplingMembers = ["temperature", "top_p", "top_k"]

/** The limit of the output, thinking included. */
const limitOf = (request: ChatRequest, offer: ModelOffer, asked: ReasoningAsked | null): number => {
  const given = outputLimit(request) ?? offer.maxCompletionTokens
  if (given !== null) return given
  const budget = asked?.budgetTokens ?? null
  return budget === null ? DEFAULT_MAX_TOKENS : Math.min(budget + ANSWER_TOKENS, MAX_UNASKED_TOKENS)
}

const unsupported = (param: string, message: string) => Result.fail(new Unsupported({ param, message }))

/** Rejects members that no model of this API supports. */
const refusals = (request: ChatRequest): Result.Result<void, Unsupported> => {
  const { logit_bias, logprobs, modalities, n, top_logprobs } = request
  if ((n ?? 1) > 1) return unsupported("n", "only one choice per request is supported")
  if (logprobs === true) return unsupported("logprobs", "log probabilities are not supported")
  if ((top_logprobs ?? 0) > 0) return unsupported("top_logprobs", "log probabilities are not supported")
  if (Object.keys(logit_bias ?? {}).length > 0) return unsupported("logit_bias", "token biases are not supported")
  if (modalities?.some((modality) => modality !== "text")) return unsupported("modalities", "only text is supported")
  if (isJsonRecord(request["web_search_options"])) {
    return unsupported("web_search_options", "searching the web is not supported here")
  }
  return Result.succeed(undefined)
}

const outputConfig = ({ effort }: Thinking, { schema }: Tooling) => {
  if (effort === null && schema === null) return {}
  const format = schema === null ? {} : { format: { type: "json_schema", schema } }
  return { output_config: { ...(effort === null ? {} : { effort }), ...format } }
}

const samplingOf = (request: ChatRequest, { sampling }: ClaudeModel) => {
  const { temperature, top_p } = request
  const givenTemperature = temperature ?? null
  const givenTopP = top_p ?? null
  const topK = countOf(request["top_k"])
  return {
    ...(sampling === 0 || topK === null || topK === 0 ? {} : { top_k: topK }),
    ...(sampling === 0 || givenTemperature === null
      ? {}
      : { temperature: Math.min(givenTemperature, MAX_TEMPERATURE) }),
    ...(givenTopP !== null && (sampling === 2 || (sampling === 1 && givenTemperature === null))
      ? { top_p: givenTopP }
      : {})
  }
}

const stopsOf = ({ stop }: ChatRequest): Result.Result<ReadonlyArray<string>, Unsupported> => {
  const stops = typeof stop === "string" ? [stop] : (stop ?? [])
  return stops.every((each) => each.trim() !== "")
    ? Result.succeed(stops)
    : unsupported("stop", "a stop sequence of whitespace alone is not supported")
}

const tierOf = ({ service_tier }: ChatRequest) => {
  if (service_tier === "auto" || service_tier === "standard_only") return { service_tier }
  return service_tier === "default" ? { service_tier: "standard_only" } : {}
}
