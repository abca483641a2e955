/** The mock provider as data. In development it is always on. */
import { defaultTimeouts, type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { picoFromUsdPerMillion } from "../../domain/pricing/Money.ts"
import { MOCK_OUTPUT_LIMIT } from "../mock/Text.ts"

const chatModel = (upstream: string, prefill: boolean): ModelOffer => ({
  id: `mock/${upstream}`,
  upstream,
  contextLength: 128_000,
  maxCompletionTokens: MOCK_OUTPUT_LIMIT,
  pricing: { prompt: picoFromUsdPerMillion(0.15), completion: picoFromUsdPerMillion(0.6), cachedPrompt: null },
  embeddings: false,
  prefill,
  hidesReasoning: false
})

/** Prompts do not leave the process. */
export const mockProvider: ProviderConfig = {
  slug: "mock",
  name: "Mock",
  dialect: "mock",
  baseUrl: "",
  apiKey: null,
  auth: { type: "none" },
  headers: {},
  query: {},
  dataPolicy: { training: false, retainsPrompts: false, retentionDays: 0, zdr: true },
  // A rehearsed timeout takes so long.
  timeouts: { ...defaultTimeouts, firstTokenMs: 10_000 },
  models: [
    chatModel("echo", true),
    chatModel("lorem", false),
    {
      id: "mock/embed",
      upstream: "embed",
      contextLength: 8_192,
      maxCompletionTokens: null,
      pricing: { prompt: picoFromUsdPerMillion(0.02), completion: 0, cachedPrompt: null },
      embeddings: true,
      prefill: false,
      hidesReasoning: false
    }
  ]
}
