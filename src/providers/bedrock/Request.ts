/**
 * Lowers a chat request to the body of Bedrock's Converse and ConverseStream, which is the same for
 * both. `bedrockParameters` gives the support for every member.
 */
import { Result } from "effect"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { lowerAnswer } from "./Answer.ts"
import { lowerMessages } from "./Messages.ts"
import { bedrockModel } from "./Model.ts"
import { lowerReasoning } from "./Reasoning.ts"
import { lowerTools } from "./Tools.ts"
import { type Parameters } from "../wire/Parameters.ts"

export const bedrockParameters: Parameters = {
  model: "mapped",
  messages: "mapped",
  temperature: "mapped",
  max_tokens: "mapped",
  stream: "mapped",
  user: "dropped",
  metadata: "dropped",
  provider: "dropped",
  response_format: "mapped",
  models: "dropped",
  max_completion_tokens: "mapped",
  stream_options: "dropped",
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
  service_tier: "mapped"
}

/** Converse rejects a higher temperature. OpenAI's scale goes to 2. */
const MAX_TEMPERATURE = 1

export interface BedrockBody {
  readonly body: string
  /** The tool whose arguments are the answer. Null if the answer is text. */
  readonly answerTool: string | null
}

export const lowerChat = (request: ChatRequest, offer: ModelOffer): Result.Result<BedrockBody, Unsupported> =>
  Result.gen(function* () {
    yield* checkSupport(request)
    const model = bedrockModel(offer.upstream)
    const answer = yield* lowerAnswer(request, model)
    const { fields, forced, toolConfig } = yield* lowerTools(request, model, answer)
    const { messages, system } = yield* lowerMessages(request.messages, toolConfig === null)
    const reasoning = lowerReasoning(request, offer, model, forced)
    const additional = { ...fields, ...reasoning.fields }
    const inferenceConfig = {
      ...limitsOf(request, reasoning.maxTokens),
      ...samplingOf(request, reasoning.fixesSampling ? 0 : (model.claude?.sampling ?? 2))
    }
    const instructions = answer.instruction === null ? system : [...system, { text: answer.instruction }]
    const body = JSON.stringify({
      messages,
      ...(instructions.length > 0 ? { system: instructions } : {}),
      ...(Object.keys(inferenceConfig).length > 0 ? { inferenceConfig } : {}),
      ...(toolConfig === null ? {} : { toolConfig }),
      ...(answer.outputConfig === null ? {} : { outputConfig: answer.outputConfig }),
      ...(Object.keys(additional).length > 0 ? { additionalModelRequestFields: additional } : {}),
      ...tierOf(request)
    })
    return { body, answerTool: answer.tool?.name ?? null }
  })

const checkSupport = (request: ChatRequest): Result.Result<void, Unsupported> => {
  const refusals: ReadonlyArray<readonly [param: string, asked: boolean, message: string]> = [
    ["n", (request.n ?? 1) > 1, "only one choice per request is supported"],
    ["logprobs", request.logprobs === true, "log probabilities are not available"],
    ["top_logprobs", (request.top_logprobs ?? 0) > 0, "log probabilities are not available"],
    ["logit_bias", Object.keys(request.logit_bias ?? {}).length > 0, "a bias on tokens is not available"],
    ["modalities", request.modalities?.some((modality) => modality !== "text") === true, "only text is available"]
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

/**
 * More expensive tiers are dropped: the price list does not have their prices, and budgets depend
 * on it.
 */
const tierOf = ({ service_tier: tier }: ChatRequest) =>
  tier === "flex" || tier === "default" ? { serviceTier: { type: tier } } : {}
