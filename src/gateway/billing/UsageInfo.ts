/** The `usage` of a reply: tokens and money of a generation. */
import { Predicate } from "effect"
import { type Members, type UsageInfo } from "../../domain/Chat.ts"
import { type Generation } from "../../domain/Generation.ts"
import { usdFromNano } from "../../domain/Money.ts"

/**
 * The same for a reply and for the generation's receipt. An amount that is not yet written is left
 * out.
 */
export const usageInfo = ({ cacheHit, cost, usage }: Generation, isWritten = true): UsageInfo => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
  ...(isWritten ? { estimated_cost_usd: usdFromNano(cost.billedNano) } : {}),
  cached_tokens: usage.cachedTokens,
  ...(isWritten ? { cache_discount_usd: usdFromNano(cost.cacheDiscountNano) } : {}),
  cache_hit: cacheHit,
  ...(usage.cachedTokens > 0 ? { prompt_tokens_details: { cached_tokens: usage.cachedTokens } } : {}),
  ...(usage.reasoningTokens === undefined
    ? {}
    : { completion_tokens_details: { reasoning_tokens: usage.reasoningTokens } })
})

/**
 * Adds what the provider reported beside our members, which win. Without its figures nothing of its
 * report is told: it was not believed.
 */
export const withProviderUsage = ({ usageSource }: Generation, info: UsageInfo, extra?: Members): UsageInfo => {
  if (extra === undefined || (usageSource !== "provider" && usageSource !== "cache")) return info
  const prompt = extra["prompt_tokens_details"]
  const completion = extra["completion_tokens_details"]
  return {
    ...extra,
    ...info,
    ...(Predicate.isObject(prompt)
      ? { prompt_tokens_details: { ...prompt, cached_tokens: info.cached_tokens, ...info.prompt_tokens_details } }
      : {}),
    ...(Predicate.isObject(completion)
      ? { completion_tokens_details: { reasoning_tokens: 0, ...completion, ...info.completion_tokens_details } }
      : {})
  }
}
