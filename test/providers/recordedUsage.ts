/**
 * Usage as vendors report it, and the amount that each vendor's published price list gives for it,
 * worked out by hand. Prices in the comments are USD per million tokens, so a product is in
 * millionths of a dollar.
 */

export interface RecordedUsage {
  readonly name: string
  readonly dialect: "openai" | "responses" | "anthropic" | "gemini" | "bedrock"
  /** Whose prices: a preset and one of its models, or an entry of the settings file. */
  readonly priced:
    | { readonly preset: string; readonly id: string; readonly service_tiers?: Readonly<Record<string, number>> }
    | { readonly entry: object }
  readonly usage: object
  /** Members of the reply beside the usage. */
  readonly beside?: object
  readonly nano: number
}

const openai = (id: string, service_tiers?: Readonly<Record<string, number>>) => ({
  dialect: "openai" as const,
  priced: { preset: "openai", id: `openai/${id}`, ...(service_tiers === undefined ? {} : { service_tiers }) }
})
const anthropic = (id: string) => ({
  dialect: "anthropic" as const,
  priced: { preset: "anthropic", id: `anthropic/${id}` }
})
const gemini = (id: string) => ({ dialect: "gemini" as const, priced: { preset: "gemini", id: `google/${id}` } })

const noPrediction = { accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 }

const gpt5 = {
  prompt_tokens: 9_000,
  completion_tokens: 1_500,
  total_tokens: 10_500,
  prompt_tokens_details: { cached_tokens: 8_192, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 1_024, audio_tokens: 0, ...noPrediction }
}

export const recordedUsages: ReadonlyArray<RecordedUsage> = [
  {
    name: "GPT-4o, prompt cache",
    ...openai("gpt-4o"),
    usage: {
      prompt_tokens: 2_006,
      completion_tokens: 300,
      total_tokens: 2_306,
      prompt_tokens_details: { cached_tokens: 1_920, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, ...noPrediction }
    },
    beside: { service_tier: "default" },
    // (2,006 - 1,920) x 2.50 + 1,920 x 1.25 + 300 x 10 = 215 + 2,400 + 3,000
    nano: 5_615_000
  },
  {
    name: "GPT-5, prompt cache and reasoning",
    ...openai("gpt-5"),
    usage: gpt5,
    beside: { service_tier: "default" },
    // 808 x 1.25 + 8,192 x 0.125 + 1,500 x 10 = 1,010 + 1,024 + 15,000
    nano: 17_034_000
  },
  {
    name: "GPT-5, priority tier",
    ...openai("gpt-5", { priority: 2 }),
    usage: gpt5,
    beside: { service_tier: "priority" },
    // 808 x 2.50 + 8,192 x 0.25 + 1,500 x 20 = 2,020 + 2,048 + 30,000
    nano: 34_068_000
  },
  {
    name: "GPT-5, flex tier",
    ...openai("gpt-5"),
    usage: gpt5,
    beside: { service_tier: "flex" },
    // 808 x 0.625 + 8,192 x 0.0625 + 1,500 x 5 = 505 + 512 + 7,500
    nano: 8_517_000
  },
  {
    name: "GPT-6 Sol, cache write",
    ...openai("gpt-6-sol"),
    usage: {
      prompt_tokens: 5_200,
      completion_tokens: 200,
      total_tokens: 5_400,
      prompt_tokens_details: { cached_tokens: 1_024, cache_write_tokens: 4_096, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 64, audio_tokens: 0, ...noPrediction }
    },
    // 80 x 2 + 1,024 x 0.20 + 4,096 x 2.50 + 200 x 10 = 160 + 204.8 + 10,240 + 2,000
    nano: 12_604_800
  },
  {
    name: "GPT-6 Sol, long prompt with a cache write",
    ...openai("gpt-6-sol"),
    usage: {
      prompt_tokens: 300_000,
      completion_tokens: 1_000,
      total_tokens: 301_000,
      prompt_tokens_details: { cached_tokens: 100_000, cache_write_tokens: 200_000 },
      completion_tokens_details: { reasoning_tokens: 0 }
    },
    // Above 272,000 tokens: 100,000 x 0.40 + 200,000 x 5 + 1,000 x 15 = 40,000 + 1,000,000 + 15,000
    nano: 1_055_000_000
  },
  {
    name: "GPT-6 Sol by the Responses API, cache write in the flex tier",
    ...openai("gpt-6-sol"),
    dialect: "responses",
    usage: {
      input_tokens: 5_200,
      input_tokens_details: { cached_tokens: 1_024, cache_write_tokens: 4_096 },
      output_tokens: 200,
      output_tokens_details: { reasoning_tokens: 64 },
      total_tokens: 5_400
    },
    beside: { service_tier: "flex" },
    // Half of 80 x 2 + 1,024 x 0.20 + 4,096 x 2.50 + 200 x 10 = 12,604.8
    nano: 6_302_400
  },
  {
    name: "GPT Audio, audio in and out",
    ...openai("gpt-audio"),
    usage: {
      prompt_tokens: 150,
      completion_tokens: 420,
      total_tokens: 570,
      prompt_tokens_details: { cached_tokens: 0, text_tokens: 20, image_tokens: 0, audio_tokens: 130 },
      completion_tokens_details: { reasoning_tokens: 0, text_tokens: 80, audio_tokens: 340, ...noPrediction }
    },
    // 20 x 2.50 + 130 x 32 + 80 x 10 + 340 x 64 = 50 + 4,160 + 800 + 21,760
    nano: 26_770_000
  },
  {
    name: "Claude Sonnet 4.5, cache writes for five minutes and for an hour",
    ...anthropic("claude-sonnet-4.5"),
    usage: {
      input_tokens: 2_048,
      cache_read_input_tokens: 1_800,
      cache_creation_input_tokens: 248,
      cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
      output_tokens: 503,
      service_tier: "standard",
      inference_geo: "not_available"
    },
    // 2,048 x 3 + 1,800 x 0.30 + 148 x 3.75 + 100 x 6 + 503 x 15 = 6,144 + 540 + 555 + 600 + 7,545
    nano: 15_384_000
  },
  {
    name: "Claude Sonnet 4.5, web search",
    ...anthropic("claude-sonnet-4.5"),
    usage: {
      input_tokens: 105,
      output_tokens: 6_039,
      cache_read_input_tokens: 7_123,
      cache_creation_input_tokens: 7_345,
      server_tool_use: { web_search_requests: 1, web_fetch_requests: 2 }
    },
    // 105 x 3 + 7,123 x 0.30 + 7,345 x 3.75 + 6,039 x 15 = 315 + 2,136.9 + 27,543.75 + 90,585, and
    // one search at 10 USD a thousand: 10,000. Fetches are free.
    nano: 130_580_650
  },
  {
    name: "Claude Opus 4.8, inference in the United States",
    ...anthropic("claude-opus-4.8"),
    usage: {
      input_tokens: 1_000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 200,
      output_tokens_details: { thinking_tokens: 60 },
      service_tier: "standard",
      inference_geo: "us"
    },
    // (1,000 x 5 + 200 x 25) x 1.1
    nano: 11_000_000
  },
  {
    name: "Gemini 2.5 Flash, audio, cached audio and thoughts",
    ...gemini("gemini-2.5-flash"),
    usage: {
      promptTokenCount: 1_200,
      candidatesTokenCount: 100,
      thoughtsTokenCount: 60,
      totalTokenCount: 1_360,
      cachedContentTokenCount: 500,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 400 },
        { modality: "AUDIO", tokenCount: 800 }
      ],
      cacheTokensDetails: [
        { modality: "TEXT", tokenCount: 200 },
        { modality: "AUDIO", tokenCount: 300 }
      ],
      candidatesTokensDetails: [{ modality: "TEXT", tokenCount: 100 }]
    },
    // 200 x 0.30 + 500 x 1 + 200 x 0.03 + 300 x 0.10 + 160 x 2.50 = 60 + 500 + 6 + 30 + 400
    nano: 996_000
  },
  {
    name: "Gemini 2.5 Pro, audio at the price of any prompt",
    ...gemini("gemini-2.5-pro"),
    usage: {
      promptTokenCount: 1_000,
      candidatesTokenCount: 10,
      totalTokenCount: 1_010,
      promptTokensDetails: [{ modality: "AUDIO", tokenCount: 1_000 }]
    },
    // 1,000 x 1.25 + 10 x 10
    nano: 1_350_000
  },
  {
    name: "Gemini 2.5 Flash, grounded by two searches of one prompt",
    ...gemini("gemini-2.5-flash"),
    usage: {
      promptTokenCount: 20,
      toolUsePromptTokenCount: 100,
      candidatesTokenCount: 40,
      totalTokenCount: 160,
      toolUsePromptTokensDetails: [{ modality: "TEXT", tokenCount: 100 }]
    },
    beside: {
      modelVersion: "gemini-2.5-flash",
      candidates: [
        {
          content: { parts: [{ text: "one" }] },
          finishReason: "STOP",
          groundingMetadata: { webSearchQueries: ["a", "b"] }
        }
      ]
    },
    // 120 x 0.30 + 40 x 2.50 = 36 + 100, and one prompt at 35 USD a thousand: 35,000
    nano: 35_136_000
  },
  {
    name: "Claude Sonnet 4.5 at Bedrock, cache writes",
    dialect: "bedrock",
    priced: {
      entry: {
        id: "anthropic/claude-sonnet-4.5",
        upstream: "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        pricing: { prompt: 3, completion: 15, cached_prompt: 0.3 }
      }
    },
    usage: {
      inputTokens: 21,
      outputTokens: 393,
      totalTokens: 2_914,
      cacheReadInputTokens: 1_000,
      cacheWriteInputTokens: 1_500,
      cacheDetails: [
        { ttl: "1h", inputTokens: 500 },
        { ttl: "5m", inputTokens: 1_000 }
      ]
    },
    beside: { serviceTier: { type: "default" } },
    // 21 x 3 + 1,000 x 0.30 + 1,000 x 3.75 + 500 x 6 + 393 x 15 = 63 + 300 + 3,750 + 3,000 + 5,895
    nano: 13_008_000
  },
  {
    name: "DeepSeek V4 Flash at the peak hour, cache hit and miss",
    dialect: "openai",
    priced: { preset: "deepseek", id: "deepseek/deepseek-v4-flash" },
    usage: {
      prompt_tokens: 1_060,
      completion_tokens: 200,
      total_tokens: 1_260,
      prompt_tokens_details: { cached_tokens: 1_024 },
      completion_tokens_details: { reasoning_tokens: 50 },
      prompt_cache_hit_tokens: 1_024,
      prompt_cache_miss_tokens: 36
    },
    // 36 x 0.44 + 1,024 x 0.014 + 200 x 1.32 = 15.84 + 14.336 + 264
    nano: 294_176
  },
  {
    name: "Perplexity Sonar, a fee for the request",
    dialect: "openai",
    priced: { preset: "perplexity", id: "perplexity/sonar" },
    usage: {
      prompt_tokens: 20,
      completion_tokens: 100,
      total_tokens: 120,
      search_context_size: "high",
      citation_tokens: 0,
      num_search_queries: 1
    },
    // 20 x 1 + 100 x 1 = 120, and one request at 12 USD a thousand: 12,000
    nano: 12_120_000
  },
  {
    name: "OpenRouter, Claude with a cache write",
    dialect: "openai",
    priced: { preset: "openrouter", id: "anthropic/claude-sonnet-4.5" },
    usage: {
      prompt_tokens: 2_000,
      completion_tokens: 100,
      total_tokens: 2_100,
      cost: 0.00885,
      is_byok: false,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 1_800, audio_tokens: 0, video_tokens: 0 },
      cost_details: { upstream_inference_cost: null, upstream_inference_prompt_cost: 0.00735 },
      completion_tokens_details: { reasoning_tokens: 0, image_tokens: 0, audio_tokens: 0 }
    },
    // 200 x 3 + 1,800 x 3.75 + 100 x 15 = 600 + 6,750 + 1,500
    nano: 8_850_000
  },
  {
    name: "xAI, live search of three sources",
    dialect: "openai",
    priced: {
      entry: {
        id: "x-ai/test",
        upstream: "test",
        pricing: { prompt: 3, completion: 15, cached_prompt: 0.75, web_search: 25 }
      }
    },
    usage: {
      prompt_tokens: 125,
      completion_tokens: 48,
      total_tokens: 273,
      prompt_tokens_details: { text_tokens: 125, audio_tokens: 0, image_tokens: 0, cached_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 100, audio_tokens: 0, ...noPrediction },
      num_sources_used: 3
    },
    // 25 x 3 + 100 x 0.75 + (48 + 100) x 15 = 75 + 75 + 2,220, and three sources at 25 USD a
    // thousand: 75,000
    nano: 77_370_000
  }
]
