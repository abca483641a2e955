/**
 * How much reasoning a request asks for, whichever of the three members says it: OpenAI's
 * `reasoning_effort`, OpenRouter's `reasoning`, Anthropic's `thinking`. The first of them counts.
 */
import { type ChatRequest } from "../../domain/Chat.ts"
import { countOf, isJsonRecord, stringOf } from "./Json.ts"

export interface ReasoningAsked {
  /** Such as `low`; `none`: reasoning is not wanted. Null: only a budget is asked for. */
  readonly effort: string | null
  readonly budgetTokens: number | null
}

/** Null: the request says nothing. */
export const reasoningAsked = (request: ChatRequest): ReasoningAsked | null => {
  const { reasoning, reasoning_effort, thinking } = request
  if (typeof reasoning_effort === "string") return { effort: reasoning_effort, budgetTokens: null }
  if (isJsonRecord(reasoning)) {
    const effort = reasoning["enabled"] === false ? "none" : stringOf(reasoning["effort"])
    const budgetTokens = countOf(reasoning["max_tokens"])
    if (effort !== null || budgetTokens !== null) return { effort, budgetTokens }
    return reasoning["enabled"] === true ? { effort: "medium", budgetTokens: null } : null
  }
  if (!isJsonRecord(thinking)) return null
  const budgetTokens = countOf(thinking["budget_tokens"])
  if (thinking["type"] === "disabled") return { effort: "none", budgetTokens: null }
  // Anthropic's default effort.
  if (thinking["type"] === "adaptive") return { effort: "high", budgetTokens: null }
  return { effort: budgetTokens === null ? "medium" : null, budgetTokens }
}

/** The effort that comes nearest to a budget. */
export const effortOf = ({ budgetTokens, effort }: ReasoningAsked): string =>
  effort ?? efforts.find(([most]) => (budgetTokens ?? 0) <= most)?.[1] ?? "high"

const efforts = [
  [2_048, "low"],
  [8_192, "medium"]
] as const

/** The members of a request that ask for reasoning. */
export const reasoningMembers = ["reasoning_effort", "reasoning", "thinking"]
