/**
 * Usage as a provider reports it. It is read as a whole or not at all: where the prompt's or the output's count is missing or makes no
 * sense, nobody reported usage, and the gateway counts for itself. Cached tokens never exceed the prompt, reasoning tokens never
 * the output.
 */
import { type TokenUsage } from "../../domain/Money.ts"
import { MAX_COUNT } from "./Json.ts"

export interface Reported {
  readonly prompt: number | null
  /** Reasoning included. */
  readonly completion: number | null
  readonly cached: number
  /** Told where it is not zero. */
  readonly reasoning?: number
}

/** Null where the prompt or the output is not known, or a sum of counts is beyond what one count may be. */
export const reportedUsage = ({ cached, completion, prompt, reasoning = 0 }: Reported): TokenUsage | null => {
  if (prompt === null || completion === null || prompt > MAX_COUNT || completion > MAX_COUNT) return null
  return {
    promptTokens: prompt,
    completionTokens: completion,
    cachedTokens: Math.min(cached, prompt),
    ...(reasoning === 0 ? {} : { reasoningTokens: Math.min(reasoning, completion) })
  }
}

/** Of an embedding, which has no output. */
export const promptUsage = (promptTokens: number | null): TokenUsage | null =>
  reportedUsage({ prompt: promptTokens, completion: 0, cached: 0 })

/** The part of a total that is not told apart; null where the total is missing or smaller than the parts that are. */
export const remainder = (total: number | null, ...parts: ReadonlyArray<number | null>): number | null => {
  if (total === null) return null
  const rest = parts.reduce((left: number, part) => left - (part ?? 0), total)
  return rest < 0 ? null : rest
}
