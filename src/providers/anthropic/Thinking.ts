/**
 * Lowers the reasoning that a request asks for. A model with adaptive thinking gets an effort; a
 * model with a thinking budget gets the budget, or a share of the output limit. Thinking stays off
 * for models without it, with a forced tool, and, for a budget, with a prefill or where the
 * thoughts that led to the last tool calls are missing.
 */
import { Result } from "effect"
import { Unsupported } from "../Provider.ts"
import { effortOf, type ReasoningAsked } from "../wire/ReasoningAsked.ts"
import { type ClaudeModel } from "./Model.ts"

export interface Thinking {
  readonly thinking: Readonly<Record<string, unknown>> | null
  readonly effort: string | null
  /** The request turned thinking on. The API then rejects sampling parameters. */
  readonly isAsked: boolean
}

/** Circumstances in which a model cannot think first. */
export interface Hindrance {
  readonly isForced: boolean
  readonly isPrefilled: boolean
  readonly lacksThoughts: boolean
}

/** Shares of the output limit. The rest is for the answer. */
const shares: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95
}
const LARGEST_SHARE = 0.95
const BUDGET_MIN_TOKENS = 1_024

const unasked: Thinking = { thinking: null, effort: null, isAsked: false }

/** `limitTokens`: the output limit, thinking included. */
export const lowerThinking = (
  asked: ReasoningAsked | null,
  claude: ClaudeModel,
  limitTokens: number,
  hindrance: Hindrance
): Result.Result<Thinking, Unsupported> => {
  if (asked === null) return Result.succeed(unasked)
  if (asked.effort === "none" || asked.budgetTokens === 0) return Result.succeed(off(claude))
  if (asked.effort !== null && shares[asked.effort] === undefined) {
    const message = `none, ${Object.keys(shares).join(", ")} are supported`
    return Result.fail(new Unsupported({ param: "reasoning_effort", message }))
  }
  if (claude.thinking === "none") return Result.succeed(unasked)
  const { isForced, isPrefilled, lacksThoughts } = hindrance
  if (claude.thinking === "adaptive") {
    const summary = claude.hidesThoughts ? { display: "summarized" } : {}
    return Result.succeed({
      thinking: isForced ? null : { type: "adaptive", ...summary },
      effort: level(effortOf(asked), claude),
      isAsked: !isForced
    })
  }
  const budget = budgetOf(asked, limitTokens)
  return Result.succeed(
    isForced || isPrefilled || lacksThoughts || budget >= limitTokens
      ? unasked
      : { thinking: { type: "enabled", budget_tokens: budget }, effort: null, isAsked: true }
  )
}

const budgetOf = ({ budgetTokens, effort }: ReasoningAsked, limitTokens: number): number => {
  const wanted = budgetTokens ?? limitTokens * (shares[effort ?? ""] ?? 0)
  return Math.max(BUDGET_MIN_TOKENS, Math.floor(Math.min(wanted, limitTokens * LARGEST_SHARE)))
}

const off = ({ thinkingOff }: ClaudeModel): Thinking => {
  if (thinkingOff === "unasked") return unasked
  return thinkingOff === "never" ? { ...unasked, effort: "low" } : { ...unasked, thinking: { type: thinkingOff } }
}

const level = (effort: string, { extraHighEffort }: ClaudeModel): string => {
  if (effort === "minimal") return "low"
  return effort === "xhigh" && !extraHighEffort ? "high" : effort
}
