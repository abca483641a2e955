/** The `usage` of a reply: tokens and money of a generation. */
import { Predicate } from "effect"
import { type Members, type UsageInfo } from "../../domain/Chat.ts"
import { type Generation } from "../../domain/Generation.ts"
import { usdFromNano } from "../../domain/pricing/Money.ts"

/**
 * The same for a reply and for the generation's receipt. An amount that is not yet written is left
 * out.
 */
export const usageInfo = ({ cacheHit, cost, usage }: Generation, isWritten = true): UsageInfo => {
  const { rare = {} } = usage
  const billedUsd = usdFromNano(cost.billedNano)
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    ...(isWritten ? { estimated_cost_usd: billedUsd, cost: billedUsd } : {}),
    cached_tokens: usage.cachedTokens,
    ...(isWritten ? { cache_discount_usd: usdFromNano(cost.cacheDiscountNano) } : {}),
    cache_hit: cacheHit,
    prompt_tokens_details: {
      cached_tokens: usage.cachedTokens,
      cache_write_tokens: (rare.cache_write ?? 0) + (rare.cache_write_1h ?? 0),
      audio_tokens: (rare.prompt_audio ?? 0) + (rare.cached_audio ?? 0)
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoningTokens ?? 0,
      audio_tokens: rare.completion_audio ?? 0
    },
    // Calls of the provider's own tools that it bills.
    ...(rare.web_search === undefined ? {} : { server_tool_use: { web_search_requests: rare.web_search } })
  }
}

/**
 * Adds what the provider reported beside our members, which win. Without its figures nothing of its
 * report is told: it was not believed.
 */
export const withProviderUsage = ({ usageSource }: Generation, info: UsageInfo, extra?: Members): UsageInfo => {
  if (extra === undefined || (usageSource !== "provider" && usageSource !== "cache")) return info
  const prompt = extra["prompt_tokens_details"]
  const completion = extra["completion_tokens_details"]
  const tools = extra["server_tool_use"]
  const ours = info["server_tool_use"]
  return {
    ...extra,
    ...info,
    prompt_tokens_details: { ...(Predicate.isObject(prompt) ? prompt : {}), ...info.prompt_tokens_details },
    completion_tokens_details: {
      ...(Predicate.isObject(completion) ? completion : {}),
      ...info.completion_tokens_details
    },
    ...(Predicate.isObject(ours) && Predicate.isObject(tools) ? { server_tool_use: { ...tools, ...ours } } : {})
  }
}
