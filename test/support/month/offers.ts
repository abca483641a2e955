/**
 * The providers of the month: a settings file's `providers`, and the same offers as prices. All
 * answer by the mock, except `delta`, whose address accepts no connection.
 */
import { picoFromUsdPerMillion, type Prices } from "../../../src/domain/pricing/Money.ts"

export interface Offer {
  readonly provider: string
  readonly model: string
  readonly prices: Prices
}

interface Listed {
  readonly prompt: number
  readonly completion?: number
  readonly cached_prompt?: number
}

const model = (id: string, contextLength: number, pricing: Listed, embeddings = false) => ({
  id,
  upstream: embeddings ? "embed" : "echo",
  context_length: contextLength,
  pricing,
  ...(embeddings ? { embeddings } : {})
})

export const providers = [
  {
    slug: "alpha",
    name: "Alpha Cloud",
    dialect: "mock",
    data_policy: { training: false, retains_prompts: false, retention_days: 0, zdr: true },
    models: [
      model("acme/small", 128_000, { prompt: 0.15, completion: 0.6, cached_prompt: 0.075 }),
      model("acme/large", 200_000, { prompt: 2.5, completion: 10, cached_prompt: 1.25 }),
      model("acme/embed", 8_192, { prompt: 0.02 }, true)
    ]
  },
  {
    slug: "beta",
    name: "Beta Inference",
    dialect: "mock",
    data_policy: { training: false, retains_prompts: true, retention_days: 30 },
    models: [
      model("acme/small", 128_000, { prompt: 0.18, completion: 0.7 }),
      model("acme/large", 200_000, { prompt: 3, completion: 12 }),
      model("acme/reason", 200_000, { prompt: 15, completion: 75, cached_prompt: 1.5 })
    ]
  },
  {
    slug: "gamma",
    name: "Gamma",
    dialect: "mock",
    models: [
      model("globex/fast", 32_000, { prompt: 0.05, completion: 0.2 }),
      model("acme/small", 64_000, { prompt: 0.2, completion: 0.8 })
    ]
  },
  {
    slug: "delta",
    name: "Delta",
    dialect: "openai",
    // The port of `discard`, on which nothing listens.
    base_url: "http://127.0.0.1:9/v1",
    data_policy: { training: true, retains_prompts: true },
    models: [
      model("globex/fast", 32_000, { prompt: 0.04, completion: 0.16 }),
      model("globex/old", 8_000, { prompt: 0.5, completion: 1 })
    ]
  }
]

/** In the order of the price, the cheapest first, as the gateway tries them. */
export const offersOf = (id: string): ReadonlyArray<Offer> =>
  providers
    .flatMap(({ models, slug }) =>
      models
        .filter((one) => one.id === id)
        .map(({ pricing }) => ({
          provider: slug,
          model: id,
          prices: {
            prompt: picoFromUsdPerMillion(pricing.prompt),
            completion: picoFromUsdPerMillion(pricing.completion ?? 0),
            cachedPrompt: pricing.cached_prompt === undefined ? null : picoFromUsdPerMillion(pricing.cached_prompt)
          }
        }))
    )
    .sort((a, b) => a.prices.prompt - b.prices.prompt)
