/** Figures for operators, in the examples of the OpenAPI document. */
import { at, model } from "./ExampleRecords.ts"

export const overview = {
  generated_at: at,
  version: "0.1.0",
  uptime_s: 86_400,
  requests: {
    last_5m: 42,
    last_24h: 12_000,
    error_rate: 0.004,
    refused_24h: { rate_limit_exceeded: 60, budget_exceeded: 6 },
    by_status: { "200": 11_900, "429": 60 }
  },
  latency_ms: { p50: 410, p95: 1_200, p99: 2_400, gateway_overhead_p99: 9 },
  spend_usd: {
    today: 1.2,
    month: 31.5,
    reserved: 0.04,
    by_model: [{ model, spend_usd: 20.1, requests: 90_000 }]
  },
  cache: { hit_rate: 0.25, entries: 1_200, saved_usd: 7.8 },
  keys: { active: 12, disabled: 1, expired: 0, revoked: 3, by_tier: { free: 2, pro: 8, enterprise: 2 } },
  providers: [{ slug: "openai", state: "closed", success_rate: 1, ttft_p50_ms: 210, open_until: null }],
  rejections: { rate_limit: 60, budget: 4, model: 2, privacy: 0 },
  ledger: { pending: 0, oldest_pending_s: null, flush_lag_ms: 1.4 }
}

export const series = {
  object: "timeseries",
  range: "hour",
  generated_at: at,
  bucket_s: 60,
  data: [
    {
      start: at,
      requests: 42,
      errors: { provider_error: 1 },
      refusals: { rate_limit_exceeded: 2 },
      cache_hits: 9,
      prompt_tokens: 16_000,
      completion_tokens: 3_100,
      spend_usd: 0.0043,
      saved_usd: 0.0009,
      latency_ms: { p50: 410, p95: 1_200, p99: 2_400 },
      time_to_first_token_ms: null
    }
  ]
}

const calls = { calls: 1_204, failed: 3, uptime: 0.9975 }
const circuit = { state: "closed", since: "2026-11-21T17:03:00.000Z", why: null, opened_24h: 1, retry_at: null }
const words = "The server is overloaded."
const sums = {
  ...calls,
  errors: [{ type: "server_error", status: 503, count: 3 }],
  last_failure: { type: "server_error", status: 503, message: words, at: "2026-11-21T17:01:12.000Z" }
}

export const provider = {
  slug: "openai",
  name: "OpenAI",
  dialect: "openai",
  address: "api.openai.com",
  status: "ok",
  ...circuit,
  ...sums,
  hours: [{ start: "2026-11-21T17:00:00.000Z", ...calls }],
  data_policy: { training: false, retains_prompts: true, retention_days: 30, zdr: false },
  models: [
    {
      id: "openai/gpt-4o-mini",
      upstream: "gpt-4o-mini",
      embeddings: false,
      context_length: 128_000,
      max_completion_tokens: 16_384,
      pricing: { prompt: "0.00000015", completion: "0.0000006" },
      ...circuit,
      ...sums,
      latency_ms: { p50: 1_420, p95: 6_100 },
      time_to_first_token_ms: { p50: 380, p95: 1_100 }
    }
  ]
}

export const outage = {
  id: "out_01a2c7b0a1e24c7d9d0b6f2a8c4e1f35",
  model: "openai/gpt-4o-mini",
  opened_at: "2026-11-21T17:01:12.000Z",
  closed_at: "2026-11-21T17:03:00.000Z",
  closed_by: "answer",
  openings: 2,
  why: { type: "server_error", status: 503, message: words },
  process: "gateway-1:4711"
}

const usageSums = {
  requests: 120,
  failed: 2,
  refusals: 4,
  cache_hits: 30,
  prompt_tokens: 48_000,
  completion_tokens: 9_000,
  cached_tokens: 12_000,
  total_cost_usd: 0.0126,
  markup_usd: 0,
  billed_usd: 0.0126,
  saved_usd: 0.0031
}
export const report = {
  object: "usage",
  from: "2026-11-01T00:00:00.000Z",
  to: "2026-12-01T00:00:00.000Z",
  group_by: "day",
  data: [{ day: "2026-11-22", ...usageSums }],
  total: usageSums,
  has_more: false
}
export const ownSums = {
  requests: 120,
  failed: 2,
  refusals: 4,
  prompt_tokens: 48_000,
  completion_tokens: 9_000,
  billed_usd: 0.0126
}
