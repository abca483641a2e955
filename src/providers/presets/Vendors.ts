/**
 * Vendors as data: a new vendor of a known dialect is one row. `policy` is what the vendor's own
 * pages promise to every API customer without a special contract, read at `source` on `checked`.
 * Vendors without a reliable promise have `unknownPolicy`, which counts as training and retaining.
 * Operators with better terms override it in the settings.
 */
import { type DataPolicy, type DialectName, type ProviderConfig, unknownPolicy } from "../../domain/Catalog.ts"

export interface Preset {
  readonly slug: string
  readonly name: string
  readonly dialect: DialectName
  /**
   * The variable that turns the preset on. It holds the key, or the base URL of a self-hosted
   * server.
   */
  readonly env: string
  readonly envHolds: "api_key" | "base_url"
  /** The variable that replaces `baseUrl`. Required if `baseUrl` is null. */
  readonly baseUrlEnv: string | null
  readonly baseUrl: string | null
  readonly auth: ProviderConfig["auth"]
  readonly query: Readonly<Record<string, string>>
  readonly policy: DataPolicy
  readonly policySource: { readonly source: string; readonly checked: string } | null
  /**
   * The vendor's names in the price list; models of the first win. Empty if the settings list the
   * models.
   */
  readonly priceLists: ReadonlyArray<string>
  /**
   * The vendor serves OpenAI's Responses API too: each model is called by the one that it needs.
   */
  readonly choosesApi?: boolean
  /** Factors of the prices by service tier, where the vendor publishes one for all its models. */
  readonly serviceTiers?: Readonly<Record<string, number>>
  /** Author of models whose name does not tell it: the first half of the model id. */
  readonly author: string
}

const bearer = { type: "bearer" } as const
const CHECKED = "2026-11-21"
const keepsNothing: DataPolicy = { training: false, retainsPrompts: false, retentionDays: 0, zdr: true }
const keepsThirtyDays: DataPolicy = { training: false, retainsPrompts: true, retentionDays: 30, zdr: false }

const hosted = (
  row: Pick<Preset, "slug" | "name" | "env" | "priceLists" | "author"> & { readonly baseUrl: string } & Partial<
      Pick<Preset, "dialect" | "auth" | "policy" | "policySource" | "choosesApi" | "serviceTiers">
    >
): Preset => ({
  dialect: "openai",
  envHolds: "api_key",
  baseUrlEnv: row.env.replace(/_API_KEY$/, "_BASE_URL"),
  auth: bearer,
  query: {},
  policy: unknownPolicy,
  policySource: null,
  ...row
})

/**
 * Servers that the operator runs: no key, no price, and prompts stay on the operator's machines.
 */
const selfHosted = (slug: string, name: string, env: string): Preset => ({
  slug,
  name,
  dialect: "openai",
  env,
  envHolds: "base_url",
  baseUrlEnv: null,
  baseUrl: null,
  auth: bearer,
  query: {},
  policy: keepsNothing,
  policySource: null,
  priceLists: [],
  author: slug
})

export const presets: ReadonlyArray<Preset> = [
  hosted({
    slug: "openai",
    name: "OpenAI",
    env: "OPENAI_API_KEY",
    baseUrl: "https://api.openai.com/v1",
    policy: keepsThirtyDays,
    policySource: { source: "https://developers.openai.com/api/docs/guides/your-data", checked: CHECKED },
    priceLists: ["openai"],
    choosesApi: true,
    serviceTiers: { flex: 0.5 },
    author: "openai"
  }),
  {
    slug: "azure",
    name: "Azure OpenAI",
    dialect: "openai",
    env: "AZURE_OPENAI_API_KEY",
    envHolds: "api_key",
    // https://<resource>.openai.azure.com/openai/v1. A deployment must have its model's name.
    baseUrlEnv: "AZURE_OPENAI_BASE_URL",
    baseUrl: null,
    auth: { type: "header", name: "api-key" },
    query: { "api-version": "v1" },
    // No training. Prompts flagged for abuse are stored for a time that the page does not state.
    policy: { training: false, retainsPrompts: true, retentionDays: null, zdr: false },
    policySource: {
      source: "https://learn.microsoft.com/en-us/azure/ai-foundry/responsible-ai/openai/data-privacy",
      checked: CHECKED
    },
    priceLists: ["azure", "openai"],
    choosesApi: true,
    serviceTiers: { flex: 0.5 },
    author: "openai"
  },
  hosted({
    slug: "anthropic",
    name: "Anthropic",
    dialect: "anthropic",
    env: "ANTHROPIC_API_KEY",
    baseUrl: "https://api.anthropic.com/v1",
    auth: { type: "header", name: "x-api-key" },
    policy: keepsThirtyDays,
    policySource: {
      source: "https://privacy.claude.com/en/articles/7996866-how-long-do-you-store-my-organization-s-data",
      checked: CHECKED
    },
    priceLists: ["anthropic"],
    // Inference in the United States only.
    serviceTiers: { us: 1.1 },
    author: "anthropic"
  }),
  hosted({
    slug: "groq",
    name: "Groq",
    env: "GROQ_API_KEY",
    baseUrl: "https://api.groq.com/openai/v1",
    // Not retained by default, but for up to 30 days to investigate abuse or faults. Zero retention
    // is a setting of the account.
    policy: keepsThirtyDays,
    policySource: { source: "https://console.groq.com/docs/your-data", checked: CHECKED },
    priceLists: ["groq"],
    serviceTiers: { flex: 1 },
    author: "groq"
  }),
  hosted({
    slug: "mistral",
    name: "Mistral",
    env: "MISTRAL_API_KEY",
    baseUrl: "https://api.mistral.ai/v1",
    priceLists: ["mistral"],
    author: "mistralai"
  }),
  hosted({
    slug: "deepseek",
    name: "DeepSeek",
    env: "DEEPSEEK_API_KEY",
    baseUrl: "https://api.deepseek.com/v1",
    priceLists: ["deepseek"],
    author: "deepseek"
  }),
  hosted({
    slug: "together",
    name: "Together AI",
    env: "TOGETHER_API_KEY",
    baseUrl: "https://api.together.xyz/v1",
    // Stored until deleted, unless the organisation turns storage off. Training only if the
    // customer opted in.
    policy: { training: false, retainsPrompts: true, retentionDays: null, zdr: false },
    policySource: { source: "https://docs.together.ai/docs/zero-data-retention", checked: CHECKED },
    priceLists: ["together"],
    author: "together"
  }),
  hosted({
    slug: "fireworks",
    name: "Fireworks AI",
    env: "FIREWORKS_API_KEY",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    policy: keepsNothing,
    policySource: { source: "https://docs.fireworks.ai/guides/security_compliance/data_handling", checked: CHECKED },
    priceLists: ["fireworks"],
    author: "fireworks"
  }),
  hosted({
    slug: "xai",
    name: "xAI",
    env: "XAI_API_KEY",
    baseUrl: "https://api.x.ai/v1",
    policy: keepsThirtyDays,
    policySource: { source: "https://docs.x.ai/docs/faq/security", checked: CHECKED },
    priceLists: ["x-ai"],
    author: "x-ai"
  }),
  hosted({
    slug: "cerebras",
    name: "Cerebras",
    env: "CEREBRAS_API_KEY",
    baseUrl: "https://api.cerebras.ai/v1",
    priceLists: ["cerebras"],
    author: "cerebras"
  }),
  hosted({
    slug: "openrouter",
    name: "OpenRouter",
    env: "OPENROUTER_API_KEY",
    baseUrl: "https://openrouter.ai/api/v1",
    // OpenRouter stores nothing itself. The provider that it routes to may.
    priceLists: ["openrouter"],
    author: "openrouter"
  }),
  hosted({
    slug: "perplexity",
    name: "Perplexity",
    env: "PERPLEXITY_API_KEY",
    baseUrl: "https://api.perplexity.ai",
    policy: keepsNothing,
    policySource: { source: "https://docs.perplexity.ai/docs/resources/privacy-security", checked: CHECKED },
    priceLists: ["perplexity"],
    author: "perplexity"
  }),
  hosted({
    slug: "gemini",
    name: "Google Gemini",
    dialect: "gemini",
    env: "GEMINI_API_KEY",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    auth: { type: "header", name: "x-goog-api-key" },
    // A key does not tell whether its project pays. Unpaid, prompts improve Google's products;
    // paid, they are logged.
    policySource: { source: "https://ai.google.dev/gemini-api/terms", checked: CHECKED },
    priceLists: ["google"],
    author: "google"
  }),
  selfHosted("ollama", "Ollama", "OLLAMA_BASE_URL"),
  selfHosted("vllm", "vLLM", "VLLM_BASE_URL"),
  selfHosted("lmstudio", "LM Studio", "LMSTUDIO_BASE_URL")
]
