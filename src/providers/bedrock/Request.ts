/**
 * Lowers a chat request to the body of Bedrock's Converse and ConverseStream, which is the same for
 * both. `bedrockParameters` gives the support for every member.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { lowerAnswer } from "./Answer.ts"
import { lowerMessages } from "./Messages.ts"
import { bedrockModel } from "./Model.ts"
import { lowerReasoning } from "./Reasoning.ts"
import { lowerTools } from "./Tools.ts"
import { thoughtMaker } from "../anthropic/Model.ts"
import { type CallBody } from "../transport/Transport.ts"
import { countOf, isJsonRecord, type JsonRecord } from "../wire/Json.ts"
import { asksFor, leftOut, type Parameters } from "../wire/Parameters.ts"
import { reasoningAsked, reasoningMembers } from "../wire/ReasoningAsked.ts"
import { sentJson } from "../wire/SentJson.ts"

export const bedrockParameters: Parameters = {
  model: "mapped",
  messages: "mapped",
  temperature: "mapped",
  max_tokens: "mapped",
  stream: "mapped",
  user: "dropped",
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
  cache_control: "dropped",
  web_search_options: "refused",
  prompt_cache_key: "dropped",
  safety_identifier: "dropped",
  session_id: "dropped"
}

/** Converse rejects a higher temperature. OpenAI's scale goes to 2. */
const MAX_TEMPERATURE = 1

export interface BedrockBody {
  readonly body: CallBody
  /** Members of the request that are not in the body. */
  readonly leftOut: ReadonlyArray<string>
  /** The tool whose arguments are the answer. Null if the answer is text. */
  readonly answerTool: string | null
}

/** `provider`: the slug. */
export const lowerChat = resultFn(function* (
  request: ChatRequest,
  offer: ModelOffer,
  provider: string
): StepsOf<Result.Result<BedrockBody, Unsupported>> {
  yield* checkSupport(request)
  const model = bedrockModel(offer.upstream)
  const answer = yield* lowerAnswer(request, model)
  const { fields, isForced, lacksStrict, toolConfig } = yield* lowerTools(request, model, answer)
  const maker = thoughtMaker(provider, offer.upstream)
  const conversation = yield* lowerMessages(request.messages, { asText: toolConfig === null, maker })
  const { isPrefilled, lacksThoughts, messages, system } = conversation
  const reasoning = lowerReasoning(request, offer, model, { isForced, isPrefilled, lacksThoughts })
  const most = reasoning.fixesSampling ? 0 : (model.claude?.sampling ?? 2)
  const additional = { ...fields, ...reasoning.fields, ...topKOf(request, offer.upstream, most) }
  const sampling = samplingOf(request, most)
  const inferenceConfig = { ...limitsOf(request, reasoning.maxTokens), ...sampling }
  const tier = tierOf(request, offer)
  const instructions = answer.instruction === null ? system : [...system, { text: answer.instruction }]
  const body = sentJson(
    {
      messages,
      ...(instructions.length > 0 ? { system: instructions } : {}),
      ...(Object.keys(inferenceConfig).length > 0 ? { inferenceConfig } : {}),
      ...(toolConfig === null ? {} : { toolConfig }),
      ...(answer.outputConfig === null ? {} : { outputConfig: answer.outputConfig }),
      ...(Object.keys(additional).length > 0 ? { additionalModelRequestFields: additional } : {}),
      ...tier
    },
    request.messages
  )
  const asked = reasoningAsked(request)
  const isSilent = asked !== null && asked.effort !== "none" && Object.keys(reasoning.fields).length === 0
  const unsent = [
    ...(asksFor(request, "temperature") && !("temperature" in sampling) ? ["temperature"] : []),
    ...(asksFor(request, "top_p") && !("topP" in sampling) ? ["top_p"] : []),
    ...(asksFor(request, "top_k") && !("top_k" in additional || "inferenceConfig" in additional) ? ["top_k"] : []),
    ...(isSilent ? reasoningMembers.filter((name) => asksFor(request, name)) : []),
    ...(asksFor(request, "service_tier") && !("serviceTier" in tier) ? ["service_tier"] : []),
    ...(lacksStrict ? ["tools.strict"] : [])
  ]
  return { body, answerTool: answer.tool?.name ?? null, leftOut: leftOut(request, bedrockParameters, unsent) }
})

const checkSupport = (request: ChatRequest): Result.Result<void, Unsupported> => {
  const refusals: ReadonlyArray<readonly [param: string, asked: boolean, message: string]> = [
    ["n", (request.n ?? 1) > 1, "only one choice per request is supported"],
    ["logprobs", request.logprobs === true, "log probabilities are not available"],
    ["top_logprobs", (request.top_logprobs ?? 0) > 0, "log probabilities are not available"],
    ["logit_bias", Object.keys(request.logit_bias ?? {}).length > 0, "a bias on tokens is not available"],
    ["modalities", request.modalities?.some((modality) => modality !== "text") === true, "only text is available"],
    ["web_search_options", isJsonRecord(request["web_search_options"]), "searching the web is not available here"]
  ]
  const refused = refusals.find(([, asked]) => asked)
  return refused === undefined
    ? Result.succeed(undefined)
    : Result.fail(new Unsupported({ param: refused[0], message: refused[2] }))
}

const limitsOf = (request: ChatRequest, reasoningLimit: number | null) => {
  const maxTokens = reasoningLimit ?? outputLimit(request)
  const stopSequences = [request.stop ?? []].flat().filter((stop) => stop !== "")
  return { ...(maxTokens === null ? {} : { maxTokens }), ...(stopSequences.length > 0 ? { stopSequences } : {}) }
}

/** `most`: how many of temperature and top_p the model accepts. With one, temperature wins. */
const samplingOf = ({ temperature, top_p: topP }: ChatRequest, most: number) => {
  const given = [
    ...(typeof temperature === "number" ? [["temperature", Math.min(temperature, MAX_TEMPERATURE)] as const] : []),
    ...(typeof topP === "number" ? [["topP", topP] as const] : [])
  ]
  return Object.fromEntries(given.slice(0, most))
}

/** Claude and Nova take `top_k`, each at its own place. */
const topKOf = (request: ChatRequest, upstream: string, most: number): JsonRecord => {
  const topK = countOf(request["top_k"])
  if (topK === null || topK === 0 || most === 0) return {}
  if (upstream.includes("claude")) return { top_k: topK }
  return upstream.includes("nova") ? { inferenceConfig: { topK } } : {}
}

/** Dearer tiers are dropped unless the settings have their prices, because budgets depend on it. */
const tierOf = ({ service_tier: tier }: ChatRequest, { pricing: { serviceTiers = {} } }: ModelOffer) =>
  tier === "flex" || tier === "default" || (typeof tier === "string" && Object.hasOwn(serviceTiers, tier))
    ? { serviceTier: { type: tier } }
    : {}
