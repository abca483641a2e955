/** The records that the examples of the OpenAPI document are made of. */
export const at = "2026-11-22T08:00:00.000Z"
export const generationId = "gen_01a2c7be3f1d4b0f8a55a3ce4f9d7b10"
export const keyId = "key_01a2c7b0a1e24c7d9d0b6f2a8c4e1f35"
export const userId = "usr_01a2c7b0be714d6f8a3c5e7f90b1d2c4"
export const model = "openai/gpt-4o-mini"

export const usage = {
  prompt_tokens: 12,
  completion_tokens: 3,
  total_tokens: 15,
  estimated_cost_usd: 0.0000036,
  cost: 0.0000036,
  cached_tokens: 0,
  cache_discount_usd: 0,
  cache_hit: false,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 }
}

export const messages = [{ role: "user", content: "Say hello." }]

export const key = {
  object: "api_key",
  id: keyId,
  name: "billing service",
  tier: "pro",
  scopes: ["chat:write", "embeddings:write", "models:read", "generations:read", "privacy:preview"],
  status: "active",
  prefix: "tg-3f9a",
  monthly_budget_usd: 50,
  allowed_models: ["openai/*"],
  privacy: null,
  rate_limits: { requests_per_minute: 300, tokens_per_minute: 400_000, concurrency: 32 },
  usage: {
    month_spent_usd: 1.25,
    month_reserved_usd: 0,
    month_remaining_usd: 48.75,
    resets_at: "2026-12-01T00:00:00.000Z"
  },
  owner: null,
  created_at: at,
  updated_at: at,
  last_used_at: at,
  expires_at: null,
  revoked_at: null
}
export const issued = { ...key, key: "tg-3f9a0c5d7e1b42869fd0a3b5c7e9f1024d6b8a0c2e4f6081" }

const attempt = {
  provider: "openai",
  model,
  status: "ok",
  latency_ms: 398,
  error_type: null,
  http_status: 200,
  started_ms: 8,
  ended_ms: 406,
  wait_ms: 0,
  prompt_tokens: 12,
  completion_tokens: 3,
  cost_usd: 0.0000036
}

export const generation = {
  id: generationId,
  model,
  provider: "openai",
  created_at: at,
  usage,
  cost: {
    prompt_cost_usd: 0.0000018,
    completion_cost_usd: 0.0000018,
    cache_discount_usd: 0,
    total_cost_usd: 0.0000036,
    markup_usd: 0,
    billed_usd: 0.0000036
  },
  latency_ms: 412,
  fallback_used: false,
  cache_hit: false,
  attempts: [attempt],
  parameters: { max_tokens: 50 },
  request_id: "req_01a2c7be3f1d4b0f8a55a3ce4f9d7b11",
  endpoint: "POST /v1/chat/completions",
  status: 200,
  masked: {},
  excluded: [],
  finish_reason: "stop",
  error_type: null,
  streamed: false,
  cancelled: false,
  time_to_first_token_ms: null,
  usage_source: "provider",
  price: { prompt: 0.15, completion: 0.6, cached_prompt: 0.075 },
  lines: [
    { class: "prompt", quantity: 12, price: 0.15, cost_usd: 0.0000018 },
    { class: "completion", quantity: 3, price: 0.6, cost_usd: 0.0000018 }
  ],
  service_tier: null,
  reservation: { reserved_usd: 0.0098, extended_usd: 0, settled_usd: 0.0000036 },
  dropped: []
}
const ofKey = { key_id: keyId, key_name: "notebook", owner: null, owner_name: null }
export const adminGeneration = {
  ...generation,
  attempts: [{ ...attempt, message: null }],
  ...ofKey
}

/** A row of the lists of requests. */
export const requestRow = {
  object: "refusal",
  id: "ref_01a2c7be3f1d4b0f8a55a3ce4f9d7b10",
  request_id: "req_01a2c7be3f1d4b0f8a55a3ce4f9d7b11",
  created_at: at,
  endpoint: "POST /v1/chat/completions",
  status: 402,
  end: "refused",
  error_type: "budget_exceeded",
  error_code: "monthly_budget_exceeded",
  error_message: "The monthly budget has no room for this request.",
  count: 1,
  key_id: keyId,
  key_name: "billing service",
  owner: null,
  owner_name: null,
  model,
  provider: null,
  attempts: 0,
  fallback_used: false,
  cache_hit: false,
  streamed: null,
  latency_ms: null,
  time_to_first_token_ms: null,
  prompt_tokens: 0,
  completion_tokens: 0,
  billed_usd: 0
}
export const page = (data: unknown) => ({ object: "list", data: [data], has_more: false, next_cursor: null })

export const user = {
  id: userId,
  email: "ann@example.com",
  phone: null,
  role: "user",
  created_at: at,
  last_sign_in_at: at,
  identities: []
}
export const signedIn = {
  access_token: "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ1c3IifQ.c2ln",
  token_type: "bearer",
  expires_in: 900,
  refresh_token: "rt_01a2c7b0.4b7d0c",
  user
}
export const account = {
  object: "user",
  id: userId,
  email: "ann@example.com",
  phone: null,
  role: "user",
  status: "active",
  grants: { tier: "pro", monthly_budget_usd: 20, scopes: ["chat:write", "models:read"] },
  keys: 2,
  usage: {
    month_spent_usd: 1.25,
    month_reserved_usd: 0,
    month_remaining_usd: 18.75,
    resets_at: "2026-12-01T00:00:00.000Z"
  },
  created_at: at,
  updated_at: at,
  last_sign_in_at: at
}

export const modelEntry = {
  id: model,
  object: "model",
  type: "model",
  created: 1_763_798_400,
  created_at: at,
  owned_by: "openai",
  name: "GPT-4o mini",
  display_name: "GPT-4o mini",
  canonical_slug: model,
  description: "",
  context_length: 128_000,
  architecture: {
    modality: "text+image->text",
    input_modalities: ["text", "image"],
    output_modalities: ["text"],
    tokenizer: "GPT",
    instruct_type: null
  },
  pricing: { prompt: "0.00000015", completion: "0.0000006" },
  supported_parameters: ["temperature", "tools"],
  default_parameters: null,
  per_request_limits: null,
  supported_voices: null,
  links: { details: "/v1/models/openai/gpt-4o-mini" },
  top_provider: { context_length: 128_000, max_completion_tokens: 16_384, is_moderated: false },
  providers: [
    {
      slug: "openai",
      name: "OpenAI",
      pricing: { prompt: "0.00000015", completion: "0.0000006" },
      context_length: 128_000,
      max_completion_tokens: 16_384,
      data_policy: { training: false, retains_prompts: true, retention_days: 30, zdr: false },
      tags: [],
      status: "ok",
      uptime: 1,
      latency_ms: { p50: 380, p99: 1_900 },
      throughput_tps: 88
    }
  ]
}
export const models = {
  object: "list",
  data: [modelEntry],
  total_count: 1,
  has_more: false,
  first_id: model,
  last_id: model,
  links: { next: null }
}

export const dependency = { status: "ok", latency_ms: 0.8 }
export const done = { ok: true }
export const changedKey = { name: "billing service", monthly_budget_usd: 100 }
export const newKey = { name: "billing service", tier: "pro", monthly_budget_usd: 50, allowed_models: ["openai/*"] }
export const chat = { model, messages, max_tokens: 50 }
export const claude = "anthropic/claude-sonnet-4-5"

export const response = {
  id: "resp_01a2c7be3f1d4b0f8a55a3ce4f9d7b10",
  object: "response",
  created_at: 1_763_798_400,
  completed_at: 1_763_798_401,
  status: "completed",
  model,
  output: [
    {
      id: "msg_01a2c7be3f1d4b0f8a55a3ce4f9d7b100",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "Hello!", annotations: [], logprobs: [] }]
    }
  ],
  error: null,
  incomplete_details: null,
  usage: {
    input_tokens: 12,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15
  },
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  tool_choice: "auto",
  tools: [],
  text: { format: { type: "text" } },
  reasoning: { effort: null, summary: null },
  max_output_tokens: null,
  max_tool_calls: null,
  previous_response_id: null,
  store: false,
  background: false,
  truncation: "disabled",
  service_tier: "default",
  safety_identifier: null,
  prompt_cache_key: null,
  user: null
}
