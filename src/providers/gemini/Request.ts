/**
 * Lowers chat requests to Gemini, and lists the support for each member. Members that only steer
 * cost or bookkeeping are dropped. Members that would change the answer and cannot be expressed are
 * `Unsupported`, so that another provider can serve the request.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { isRawNumber } from "../../domain/json/Json.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { type CallBody } from "../transport/Transport.ts"
import { countOf, isJsonRecord, type JsonRecord } from "../wire/Json.ts"
import { contentsOf } from "./Contents.ts"
import { makesImages, separatesJsonFromTools, thinkingConfig, validatesCalls } from "./Model.ts"
import { isStrict, toolsOf } from "./Tools.ts"
import { asksFor, leftOut, type Parameters } from "../wire/Parameters.ts"
import { reasoningAsked, reasoningMembers } from "../wire/ReasoningAsked.ts"
import { sentJson } from "../wire/SentJson.ts"
import { type ThoughtMaker } from "../wire/Thoughts.ts"

export const geminiParameters: Parameters = {
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
  n: "mapped",
  top_p: "mapped",
  stop: "mapped",
  seed: "mapped",
  // Supported by generations 1.5 and 2.0 only; later ones answer that penalties are not enabled.
  presence_penalty: "dropped",
  frequency_penalty: "dropped",
  logprobs: "mapped",
  top_logprobs: "mapped",
  logit_bias: "refused",
  tools: "mapped",
  tool_choice: "mapped",
  // Only the first call of an answer is passed on.
  parallel_tool_calls: "handled",
  reasoning_effort: "mapped",
  modalities: "refused",
  prediction: "dropped",
  service_tier: "dropped",
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

interface GeminiBody {
  readonly body: CallBody
  /** Members of the request that are not in the body. */
  readonly leftOut: ReadonlyArray<string>
}

/**
 * The JSON body of a call. The model is part of the path. `maker`: marks the provider's thoughts.
 */
export const chatBody = resultFn(function* (
  request: ChatRequest,
  offer: ModelOffer,
  maker: ThoughtMaker
): StepsOf<Result.Result<GeminiBody, Unsupported>> {
  const { upstream } = offer
  const inexpressible = refusalOf(request, upstream)
  if (inexpressible !== null) return yield* Result.fail(inexpressible)
  const contents = yield* contentsOf(request.messages, upstream, maker)
  const tools = yield* toolsOf(request, upstream)
  const format = yield* formatOf(request.response_format ?? null)
  if ("responseMimeType" in format && "tools" in tools && separatesJsonFromTools(upstream)) {
    const message = `${upstream} answers in JSON only where no tools are given`
    return yield* Result.fail(new Unsupported({ param: "response_format", message }))
  }
  const asked = reasoningAsked(request)
  const thinking = yield* thinkingConfig(upstream, asked)
  const generationConfig = {
    ...samplingOf(request),
    ...format,
    ...(asksForImages(request) ? { responseModalities: ["TEXT", "IMAGE"] } : {}),
    ...(thinking === null ? {} : { thinkingConfig: thinking })
  }
  const body = sentJson(
    {
      ...contents,
      ...tools,
      ...(Object.keys(generationConfig).length === 0 ? {} : { generationConfig })
    },
    request.messages
  )
  const isSilent = asked !== null && asked.effort !== "none" && thinking === null
  const isLoose = !validatesCalls(upstream) && request.tool_choice !== "required" && request.tools?.some(isStrict)
  const unsent = [
    ...(isSilent ? reasoningMembers.filter((name) => asksFor(request, name)) : []),
    ...(isLoose === true ? ["tools.strict"] : [])
  ]
  return { body, leftOut: leftOut(request, geminiParameters, unsent) }
})

const asksForImages = ({ modalities }: ChatRequest): boolean => modalities?.includes("image") === true

/** The sampling members with a value. Temperature has the same range in both APIs. */
const samplingOf = (request: ChatRequest): JsonRecord => {
  const { logprobs, n, seed, stop, temperature, top_logprobs, top_p } = request
  const stops = typeof stop === "string" ? [stop] : (stop ?? [])
  return given({
    temperature,
    topP: top_p,
    topK: countOf(request["top_k"]),
    maxOutputTokens: outputLimit(request),
    stopSequences: stops.length === 0 ? null : stops,
    candidateCount: n === 1 ? null : n,
    // Gemini's seed has 32 bits. Larger seeds are truncated, so that equal seeds stay equal.
    seed: seedOf(seed),
    responseLogprobs: logprobs === true ? true : null,
    logprobs: top_logprobs === 0 ? null : top_logprobs
  })
}

const seedOf = (seed: ChatRequest["seed"]): number | null => {
  if (typeof seed === "number") return seed | 0
  return isRawNumber(seed) ? Number(BigInt.asIntN(32, BigInt(seed.rawJSON))) : null
}

const given = (members: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null))

const formatOf = (format: JsonRecord | null): Result.Result<JsonRecord, Unsupported> => {
  const json = { responseMimeType: "application/json" }
  switch (format?.["type"]) {
    case undefined:
    case "text":
      return Result.succeed({})
    case "json_object":
      return Result.succeed(json)
    case "json_schema": {
      const named = format?.["json_schema"]
      const schema = isJsonRecord(named) ? named["schema"] : undefined
      return Result.succeed(isJsonRecord(schema) ? { ...json, responseJsonSchema: schema } : json)
    }
    default:
      return Result.fail(new Unsupported({ param: "response_format", message: "unknown response_format" }))
  }
}

/** The first member that the model does not support, or null. */
const refusalOf = (request: ChatRequest, upstream: string): Unsupported | null => {
  if (Object.keys(request.logit_bias ?? {}).length > 0)
    return new Unsupported({ param: "logit_bias", message: "Gemini models do not support logit_bias" })
  const known = makesImages(upstream) ? ["text", "image"] : ["text"]
  if (request.modalities?.some((modality) => !known.includes(modality)) === true)
    return new Unsupported({ param: "modalities", message: `only ${known.join(" and ")} is supported here` })
  if (isJsonRecord(request["web_search_options"]) && (request.tools?.length ?? 0) > 0)
    return new Unsupported({ param: "web_search_options", message: "the web is not searched beside functions here" })
  return null
}
