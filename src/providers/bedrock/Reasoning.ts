/**
 * Lowers the reasoning that a request asks for, for each model family on Bedrock: Claude's
 * thinking, adaptive or with a token budget; the effort of OpenAI's open models; the effort of Nova
 * 2. Other models get nothing. Thinking stays off where Claude would reject the request: with a
 * forced tool or a prefill, without the thinking that led to the last tool calls, or with too few
 * tokens to think and answer.
 */
import { type ModelOffer } from "../../domain/Catalog.ts"
import { type ChatRequest, outputLimit } from "../../domain/Chat.ts"
import { type JsonRecord } from "../wire/Json.ts"
import { effortOf, type ReasoningAsked, reasoningAsked } from "../wire/ReasoningAsked.ts"
import { type ClaudeModel } from "../anthropic/Model.ts"
import { type BedrockModel } from "./Model.ts"

export interface Reasoning {
  /** For `additionalModelRequestFields`. */
  readonly fields: JsonRecord
  /** An output limit that leaves room for the answer. Null: unchanged. */
  readonly maxTokens: number | null
  /** True if temperature and top_p must not be sent. */
  readonly fixesSampling: boolean
}

const unchanged: Reasoning = { fields: {}, maxTokens: null, fixesSampling: false }

/** Budgets in tokens. Claude accepts none below 1,024. */
const budgets: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768
}
const SMALLEST_BUDGET = 1_024
/** Reserved for the answer if the request sets no limit. */
const ANSWER_TOKENS = 4_096

const levels: Readonly<Record<string, "low" | "medium" | "high">> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high"
}

/** Circumstances in which Claude cannot think first. */
export interface Hindrance {
  /** The model must call a tool. */
  readonly isForced: boolean
  readonly isPrefilled: boolean
  readonly lacksThoughts: boolean
}

/** An unknown effort is ignored. */
export const lowerReasoning = (
  request: ChatRequest,
  offer: ModelOffer,
  { claude, reasoning }: BedrockModel,
  hindrance: Hindrance
): Reasoning => {
  const asked = reasoningAsked(request)
  if (asked === null) return unchanged
  const isOff = asked.effort === "none" || asked.budgetTokens === 0
  if (isOff && claude?.thinkingOff === "disabled") return { ...unchanged, fields: { thinking: { type: "disabled" } } }
  const level = isOff ? undefined : levels[effortOf(asked)]
  if (level === undefined) return unchanged
  if (reasoning === "effort") return { ...unchanged, fields: { reasoning_effort: level } }
  if (reasoning === "nova") {
    // Nova's high effort allows no sampling parameters and no output limit, and budgets of money
    // depend on the limit.
    const maxReasoningEffort = level === "high" ? "medium" : level
    return { ...unchanged, fields: { reasoningConfig: { type: "enabled", maxReasoningEffort } } }
  }
  return claude === null || hindrance.isForced ? unchanged : thinking(asked, level, request, offer, claude, hindrance)
}

const thinking = (
  asked: ReasoningAsked,
  level: string,
  request: ChatRequest,
  offer: ModelOffer,
  claude: ClaudeModel,
  { isPrefilled, lacksThoughts }: Hindrance
): Reasoning => {
  if (claude.thinking === "none") return unchanged
  const effort = effortOf(asked)
  if (claude.thinking === "adaptive") {
    const display = claude.hidesThoughts ? { display: "summarized" } : {}
    const named = effort === "max" || (effort === "xhigh" && claude.extraHighEffort) ? effort : level
    const fields = { thinking: { type: "adaptive", ...display }, output_config: { effort: named } }
    return { fields, maxTokens: null, fixesSampling: true }
  }
  const limit = outputLimit(request)
  const wanted = asked.budgetTokens ?? budgets[effort] ?? SMALLEST_BUDGET
  const most = Math.min(wanted + ANSWER_TOKENS, offer.maxCompletionTokens ?? Number.POSITIVE_INFINITY)
  const share = asked.budgetTokens === null ? 0.8 : 0.95
  const budget = Math.min(wanted, Math.floor((limit ?? most) * share))
  if (budget < SMALLEST_BUDGET || isPrefilled || lacksThoughts) return unchanged
  return {
    fields: { thinking: { type: "enabled", budget_tokens: budget } },
    maxTokens: limit === null ? most : null,
    fixesSampling: true
  }
}
