/**
 * The members of vendors' usages that are numbers, by dialect, with what they are billed as. A
 * member that is not listed here fails a test, so that no vendor's new class of tokens is charged
 * at a guessed price: find its price, give it a class, then list it.
 */
import { type UsageClass } from "../../src/domain/pricing/UsageClass.ts"

/**
 * `part`: counted in another member and not priced alone. `free`: never charged. `note`: no count
 * of anything that is charged.
 */
export type Meaning = UsageClass | "part" | "free" | "note"

/** Paths with dots. Entries of a list go by their own kind: `promptTokensDetails.AUDIO`. */
export const knownUsageMembers: Readonly<Record<string, Readonly<Record<string, Meaning>>>> = {
  openai: {
    prompt_tokens: "prompt",
    completion_tokens: "completion",
    total_tokens: "part",
    "prompt_tokens_details.cached_tokens": "cached_prompt",
    "prompt_tokens_details.cache_write_tokens": "cache_write",
    "prompt_tokens_details.audio_tokens": "prompt_audio",
    "prompt_tokens_details.text_tokens": "part",
    "prompt_tokens_details.image_tokens": "part",
    "prompt_tokens_details.video_tokens": "part",
    "completion_tokens_details.reasoning_tokens": "part",
    "completion_tokens_details.audio_tokens": "completion_audio",
    "completion_tokens_details.image_tokens": "completion_image",
    "completion_tokens_details.text_tokens": "part",
    "completion_tokens_details.accepted_prediction_tokens": "part",
    "completion_tokens_details.rejected_prediction_tokens": "part",
    // DeepSeek, Moonshot
    prompt_cache_hit_tokens: "cached_prompt",
    prompt_cache_miss_tokens: "part",
    cached_tokens: "cached_prompt",
    // OpenRouter
    cost: "note",
    "cost_details.upstream_inference_cost": "note",
    "cost_details.upstream_inference_prompt_cost": "note",
    "server_tool_use.web_search_requests": "web_search",
    // Perplexity
    citation_tokens: "free",
    num_search_queries: "web_search",
    // xAI
    num_sources_used: "web_search",
    // Groq
    queue_time: "note",
    prompt_time: "note",
    completion_time: "note",
    total_time: "note"
  },
  responses: {
    input_tokens: "prompt",
    output_tokens: "completion",
    total_tokens: "part",
    "input_tokens_details.cached_tokens": "cached_prompt",
    "input_tokens_details.cache_write_tokens": "cache_write",
    "output_tokens_details.reasoning_tokens": "part"
  },
  anthropic: {
    input_tokens: "prompt",
    output_tokens: "completion",
    cache_read_input_tokens: "cached_prompt",
    cache_creation_input_tokens: "cache_write",
    "cache_creation.ephemeral_5m_input_tokens": "cache_write",
    "cache_creation.ephemeral_1h_input_tokens": "cache_write_1h",
    "output_tokens_details.thinking_tokens": "part",
    "server_tool_use.web_search_requests": "web_search",
    "server_tool_use.web_fetch_requests": "free"
  },
  gemini: {
    promptTokenCount: "prompt",
    candidatesTokenCount: "completion",
    thoughtsTokenCount: "completion",
    toolUsePromptTokenCount: "prompt",
    totalTokenCount: "part",
    cachedContentTokenCount: "cached_prompt",
    "promptTokensDetails.TEXT": "part",
    "promptTokensDetails.IMAGE": "part",
    "promptTokensDetails.VIDEO": "part",
    "promptTokensDetails.DOCUMENT": "part",
    "promptTokensDetails.AUDIO": "prompt_audio",
    "toolUsePromptTokensDetails.TEXT": "part",
    "toolUsePromptTokensDetails.AUDIO": "prompt_audio",
    "cacheTokensDetails.TEXT": "part",
    "cacheTokensDetails.IMAGE": "part",
    "cacheTokensDetails.VIDEO": "part",
    "cacheTokensDetails.DOCUMENT": "part",
    "cacheTokensDetails.AUDIO": "cached_audio",
    "candidatesTokensDetails.TEXT": "part",
    "candidatesTokensDetails.AUDIO": "completion_audio",
    "candidatesTokensDetails.IMAGE": "completion_image"
  },
  bedrock: {
    inputTokens: "prompt",
    outputTokens: "completion",
    totalTokens: "part",
    cacheReadInputTokens: "cached_prompt",
    cacheWriteInputTokens: "cache_write",
    // The same counts under earlier names.
    cacheReadInputTokenCount: "part",
    cacheWriteInputTokenCount: "part",
    "cacheDetails.5m": "cache_write",
    "cacheDetails.1h": "cache_write_1h"
  }
}
