/** Prices and data policies as the API shows them. */
import { type ModelEntry } from "../../api/Models.ts"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { type PicoUsdPerToken, type Prices, type Pricing } from "../../domain/pricing/Money.ts"

type Entry = typeof ModelEntry.Type

export const policyOf = ({ dataPolicy }: ProviderConfig): Entry["providers"][number]["data_policy"] => ({
  training: dataPolicy.training,
  retains_prompts: dataPolicy.retainsPrompts,
  retention_days: dataPolicy.retentionDays,
  zdr: dataPolicy.zdr
})

/** Converts pico-USD to USD per token, as a plain decimal without an exponent. */
const price = (pico: PicoUsdPerToken): string => {
  const digits = String(pico).padStart(13, "0")
  const decimal = `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/0+$/, "").replace(/\.$/, "")
  return decimal === "" ? "0" : decimal
}

export const prices = ({ cachedPrompt, completion, prompt, rare = {} }: Prices): Entry["pricing"] => ({
  prompt: price(prompt),
  completion: price(completion),
  ...(cachedPrompt === null ? {} : { input_cache_read: price(cachedPrompt) }),
  ...(rare.cache_write === undefined ? {} : { input_cache_write: price(rare.cache_write) }),
  ...(rare.prompt_audio === undefined ? {} : { audio: price(rare.prompt_audio) }),
  ...(rare.request === undefined ? {} : { request: price(rare.request) }),
  ...(rare.web_search === undefined ? {} : { web_search: price(rare.web_search) })
})

export const tieredPrices = ({ tiers, ...base }: Pricing): Entry["providers"][number]["pricing"] => ({
  ...prices(base),
  ...(tiers === undefined
    ? {}
    : {
        tiers: tiers.map(({ abovePromptTokens, ...tier }) => ({
          above_prompt_tokens: abovePromptTokens,
          ...prices(tier)
        }))
      })
})
