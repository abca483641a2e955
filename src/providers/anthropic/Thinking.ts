/**
 * Lowers `reasoning_effort`. A model with adaptive thinking gets an effort; a model with a thinking
 * budget gets a share of the output limit. Thinking stays off for models without it, with a forced
 * tool, and, for a budget, with a prefill or after tool calls.
 */
import { Result } from "effect"
import { Unsupported } from "../Provider.ts"
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
  readonly lastCalledTools: boolean
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
const BUDGET_MIN_TOKENS = 1_024

const unasked: Thinking = { thinking: null, effort: null, isAsked: false }

/** `limitTokens`: the output limit, thinking included. */
export const lowerEffort = (
  effort: string | null | undefined,
  claude: ClaudeModel,
  limitTokens: number,
  hindrance: Hindrance
): Result.Result<Thinking, Unsupported> => {
  if (effort === undefined || effort === null) return Result.succeed(unasked)
  if (effort === "none") return Result.succeed(off(claude))
  const share = shares[effort]
  if (share === undefined) {
    const message = `none, ${Object.keys(shares).join(", ")} are supported`
    return Result.fail(new Unsupported({ param: "reasoning_effort", message }))
  }
  if (claude.thinking === "none") return Result.succeed(unasked)
  const { isForced, isPrefilled, lastCalledTools } = hindrance
  if (claude.thinking === "adaptive") {
    const summary = claude.hidesThoughts ? { display: "summarized" } : {}
    return Result.succeed({
      thinking: isForced ? null : { type: "adaptive", ...summary },
      effort: level(effort, claude),
      isAsked: !isForced
    })
  }
  const budget = Math.max(BUDGET_MIN_TOKENS, Math.floor(limitTokens * share))
  return Result.succeed(
    isForced || isPrefilled || lastCalledTools || budget >= limitTokens
      ? unasked
      : { thinking: { type: "enabled", budget_tokens: budget }, effort: null, isAsked: true }
  )
}

const off = ({ thinkingOff }: ClaudeModel): Thinking => {
  if (thinkingOff === "unasked") return unasked
  return thinkingOff === "never" ? { ...unasked, effort: "low" } : { ...unasked, thinking: { type: thinkingOff } }
}

const level = (effort: string, { extraHighEffort }: ClaudeModel): string => {
  if (effort === "minimal") return "low"
  return effort === "xhigh" && !extraHighEffort ? "high" : effort
}
