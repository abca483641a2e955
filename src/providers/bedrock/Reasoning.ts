/**
 * `reasoning_effort` in the terms of each family of models on Bedrock: Claude's thinking, with a budget of tokens or
 * adaptive; the effort of OpenAI's open models; that of Nova 2. Models without such a switch are left alone. A switch that
 * would make the rest of the request impossible is not thrown: tools that must be called, thoughts that are missing
 * before the last calls, too few tokens to think and answer.
 */
import { type ModelOffer } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { type JsonRecord } from "../wire/Json.ts"
import { type ClaudeModel } from "../anthropic/Model.ts"
import { type BedrockModel } from "./Model.ts"

export interface Reasoning {
  /** For `additionalModelRequestFields`. */
  readonly fields: JsonRecord
  /** The output limit that leaves room for an answer; null: as it was. */
  readonly maxTokens: number | null
  /** Whether temperature and top_p must stay away. */
  readonly fixesSampling: boolean
}

const nothing: Reasoning = { fields: {}, maxTokens: null, fixesSampling: false }

/** Tokens. Claude takes no budget below 1,024. */
const budgets: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768
}
const SMALLEST_BUDGET = 1_024
/** Left for the answer where the request sets no limit. */
const ANSWER_TOKENS = 4_096

const levels: Readonly<Record<string, "low" | "medium" | "high">> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high"
}

/** `forced`: the model must call a tool. An effort of another name counts as none given. */
export const lowerReasoning = (
  request: ChatRequest,
  offer: ModelOffer,
  { claude, reasoning }: BedrockModel,
  forced: boolean
): Reasoning => {
  const effort = request.reasoning_effort ?? ""
  const level = levels[effort]
  if (claude !== null && effort === "none" && claude.thinkingOff === "disabled")
    return { ...nothing, fields: { thinking: { type: "disabled" } } }
  if (level === undefined) return nothing
  if (reasoning === "effort") return { ...nothing, fields: { reasoning_effort: level } }
  if (reasoning === "nova") {
    // Nova's high effort takes neither sampling nor an output limit, and budgets stand on a limit.
    const maxReasoningEffort = level === "high" ? "medium" : level
    return { ...nothing, fields: { reasoningConfig: { type: "enabled", maxReasoningEffort } } }
  }
  return claude === null || forced ? nothing : thinking(effort, level, request, offer, claude)
}

const thinking = (
  effort: string,
  level: string,
  request: ChatRequest,
  offer: ModelOffer,
  claude: ClaudeModel
): Reasoning => {
  if (claude.thinking === "none") return nothing
  if (claude.thinking === "adaptive") {
    const display = claude.hidesThoughts ? { display: "summarized" } : {}
    const asked = effort === "xhigh" && claude.extraHighEffort ? effort : level
    const fields = { thinking: { type: "adaptive", ...display }, output_config: { effort: asked } }
    return { fields, maxTokens: null, fixesSampling: true }
  }
  const limit = outputLimit(request)
  const wanted = budgets[effort] ?? SMALLEST_BUDGET
  const most = Math.min(wanted + ANSWER_TOKENS, offer.maxCompletionTokens ?? Number.POSITIVE_INFINITY)
  const budget = Math.min(wanted, Math.floor((limit ?? most) * 0.8))
  if (budget < SMALLEST_BUDGET || lacksThoughts(request)) return nothing
  return {
    fields: { thinking: { type: "enabled", budget_tokens: budget } },
    maxTokens: limit === null ? most : null,
    fixesSampling: true
  }
}

/** Claude wants the thoughts that came before a tool call, and the last round of calls comes without. */
const lacksThoughts = ({ messages }: ChatRequest): boolean => {
  const last = messages.findLast(({ role }) => role === "assistant" || role === "user")
  return last?.role === "assistant" && (last.tool_calls?.length ?? 0) > 0 && !Array.isArray(last["reasoning_details"])
}
