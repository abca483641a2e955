/**
 * Usage as a provider reports it. It is read as a whole or not at all: if the count of the prompt
 * or of the output is missing or invalid, the result is null and the gateway counts itself. No part
 * of the prompt exceeds the prompt, and no part of the output exceeds the output.
 */
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import {
  type ByClass,
  isCallClass,
  isStandardTier,
  mapClasses,
  noClasses,
  type RareClass
} from "../../domain/pricing/UsageClass.ts"
import { MAX_COUNT, stringOf } from "./Json.ts"

export interface Reported {
  readonly prompt: number | null
  /** Includes reasoning tokens. */
  readonly completion: number | null
  readonly cached: number
  /** Present only if not zero. */
  readonly reasoning?: number
  /** Parts of the prompt and of the completion, and calls. */
  readonly rare?: ByClass
  /** The service tier in the provider's words, of whatever type. */
  readonly tier?: unknown
}

/** Null if the prompt or the output count is unknown, or a count exceeds `MAX_COUNT`. */
export const reportedUsage = ({
  cached,
  completion,
  prompt,
  rare = {},
  reasoning = 0,
  tier
}: Reported): TokenUsage | null => {
  if (prompt === null || completion === null || prompt > MAX_COUNT || completion > MAX_COUNT) return null
  const most = (name: RareClass): number =>
    isCallClass(name) ? MAX_COUNT : name.startsWith("completion") ? completion : prompt
  const used = mapClasses(rare, (count, name) => Math.min(count, most(name)) || null)
  const serviceTier = tierOf(tier)
  return {
    promptTokens: prompt,
    completionTokens: completion,
    cachedTokens: Math.min(cached, prompt),
    ...(reasoning === 0 ? none : { reasoningTokens: Math.min(reasoning, completion) }),
    ...(used === noClasses ? none : { rare: used }),
    ...(serviceTier === null ? none : { serviceTier })
  }
}

const none = {}

const LONGEST_TIER = 32

/** Null: the standard tier, or none named. A name that cannot be one is `unknown`. */
const tierOf = (value: unknown): string | null => {
  const tier = stringOf(value)?.toLowerCase() ?? null
  if (tier === null || tier === "" || isStandardTier(tier)) return null
  return tier.length <= LONGEST_TIER && /^[\w.+-]+$/.test(tier) ? tier : "unknown"
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
