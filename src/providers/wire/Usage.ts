/**
 * Usage as a provider reports it. It is read as a whole or not at all: if the count of the prompt
 * or of the output is missing or invalid, the result is null and the gateway counts itself. Cached
 * tokens never exceed the prompt, and reasoning tokens never exceed the output.
 */
import { type TokenUsage } from "../../domain/Money.ts"
import { MAX_COUNT } from "./Json.ts"

export interface Reported {
  readonly prompt: number | null
  /** Includes reasoning tokens. */
  readonly completion: number | null
  readonly cached: number
  /** Present only if not zero. */
  readonly reasoning?: number
}

/** Null if the prompt or the output count is unknown, or a count exceeds `MAX_COUNT`. */
export const reportedUsage = ({ cached, completion, prompt, reasoning = 0 }: Reported): TokenUsage | null => {
  if (prompt === null || completion === null || prompt > MAX_COUNT || completion > MAX_COUNT) return null
  return {
    promptTokens: prompt,
    completionTokens: completion,
    cachedTokens: Math.min(cached, prompt),
    ...(reasoning === 0 ? {} : { reasoningTokens: Math.min(reasoning, completion) })
  }
}

/** Usage of an embedding, which has no output. */
export const promptUsage = (promptTokens: number | null): TokenUsage | null =>
  reportedUsage({ prompt: promptTokens, completion: 0, cached: 0 })

/** The total minus the given parts. Null if the total is missing or smaller than the parts. */
export const remainder = (total: number | null, ...parts: ReadonlyArray<number | null>): number | null => {
  if (total === null) return null
  const rest = parts.reduce((left: number, part) => left - (part ?? 0), total)
  return rest < 0 ? null : rest
}
