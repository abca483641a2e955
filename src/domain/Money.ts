/**
 * Money. Amounts are integer nano-USD (1e-9 USD), prices are integer pico-USD per token (1 USD per
 * million tokens is 1,000,000 pico-USD per token). On the wire both are USD numbers. A cost is
 * rounded once, half up, when tokens are multiplied by a price. A JavaScript number holds nano-USD
 * exactly up to nine million dollars.
 */

/** Integer nano-USD. */
export type NanoUsd = number
/** Integer pico-USD per token. */
export type PicoUsdPerToken = number

const NANO_PER_USD = 1e9
const PICO_PER_TOKEN_FOR_USD_PER_MILLION = 1e6

/** USD, as in settings, to integer nano-USD. */
export const nanoFromUsd = (usd: number): NanoUsd => Math.round(usd * NANO_PER_USD)
/** Integer nano-USD to the USD number on the wire. */
export const usdFromNano = (nano: NanoUsd): number => nano / NANO_PER_USD
/** Such as `$0.0000001`: a plain decimal, never an exponent. */
export const usdText = (nano: NanoUsd): string =>
  `$${usdFromNano(nano)
    .toFixed(9)
    .replace(/\.?0+$/, "")}`
/** USD per million tokens, as in price lists, to integer pico-USD per token. */
export const picoFromUsdPerMillion = (usd: number): PicoUsdPerToken =>
  Math.round(usd * PICO_PER_TOKEN_FOR_USD_PER_MILLION)
export const usdPerMillionFromPico = (pico: PicoUsdPerToken): number => pico / PICO_PER_TOKEN_FOR_USD_PER_MILLION

/** The cost of `tokens` at `price`. */
export const costOf = (tokens: number, price: PicoUsdPerToken): NanoUsd => Math.round((tokens * price) / 1000)

/** Prices per token. `cachedPrompt`: price of tokens read from the provider's prompt cache. */
export interface Prices {
  readonly prompt: PicoUsdPerToken
  readonly completion: PicoUsdPerToken
  /** `null`: no discount; cached tokens have the prompt price. */
  readonly cachedPrompt: PicoUsdPerToken | null
}

/** Prices of all tokens of a request whose prompt is longer than `abovePromptTokens`. */
export interface PriceTier extends Prices {
  readonly abovePromptTokens: number
}

/** Prices of one model at one provider. `tiers` for long prompts, in ascending order. */
export interface Pricing extends Prices {
  readonly tiers?: ReadonlyArray<PriceTier>
}

/** The prices for a prompt of this length. */
export const pricesFor = (pricing: Pricing, promptTokens: number): Prices => {
  if (pricing.tiers === undefined) return pricing
  const tier = pricing.tiers.findLast(({ abovePromptTokens }) => promptTokens > abovePromptTokens)
  const { cachedPrompt, completion, prompt } = tier ?? pricing
  return { prompt, completion, cachedPrompt }
}

/**
 * Tokens as reported by the provider or counted by the gateway. `cachedTokens` are part of
 * `promptTokens`, `reasoningTokens` part of `completionTokens`. `reasoningTokens` is absent if the
 * provider reported none.
 */
export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens?: number
}

/**
 * Cost of one generation: `prompt + completion - cacheDiscount = total`, `billed = total + markup`.
 */
export interface Cost {
  readonly promptNano: NanoUsd
  readonly completionNano: NanoUsd
  readonly cacheDiscountNano: NanoUsd
  readonly totalNano: NanoUsd
  readonly markupNano: NanoUsd
  readonly billedNano: NanoUsd
}

export const zeroCost: Cost = {
  promptNano: 0,
  completionNano: 0,
  cacheDiscountNano: 0,
  totalNano: 0,
  markupNano: 0,
  billedNano: 0
}

export const addCosts = (a: Cost, b: Cost): Cost => ({
  promptNano: a.promptNano + b.promptNano,
  completionNano: a.completionNano + b.completionNano,
  cacheDiscountNano: a.cacheDiscountNano + b.cacheDiscountNano,
  totalNano: a.totalNano + b.totalNano,
  markupNano: a.markupNano + b.markupNano,
  billedNano: a.billedNano + b.billedNano
})

/**
 * The cost of `usage` at the prices of its tier. Every prompt token is priced at the prompt price.
 * For tokens that the provider read from its cache, `cacheDiscount` is the difference to the cache
 * price.
 */
export const priceUsage = (usage: TokenUsage, pricing: Pricing, markup: number): Cost => {
  const { cachedPrompt, completion, prompt } = pricesFor(pricing, usage.promptTokens)
  const promptNano = costOf(usage.promptTokens, prompt)
  const completionNano = costOf(usage.completionTokens, completion)
  const cached = Math.min(usage.cachedTokens, usage.promptTokens)
  const cacheDiscountNano =
    cachedPrompt === null ? 0 : Math.max(0, costOf(cached, prompt) - costOf(cached, cachedPrompt))
  const totalNano = promptNano + completionNano - cacheDiscountNano
  const markupNano = Math.round(totalNano * markup)
  return { promptNano, completionNano, cacheDiscountNano, totalNano, markupNano, billedNano: totalNano + markupNano }
}

/**
 * The cost of an answer from the gateway's cache: bills nothing and shows the saved amount as
 * discount.
 */
export const savedCost = (usage: TokenUsage, pricing: Pricing): Cost => {
  const full = priceUsage({ ...usage, cachedTokens: 0 }, pricing, 0)
  return { ...full, cacheDiscountNano: full.totalNano, totalNano: 0, markupNano: 0, billedNano: 0 }
}

/** The UTC calendar month of a moment, such as `2026-11`. Budgets are counted by it. */
export const monthOf = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 7)

export const DAY_MS = 86_400_000

/** The start of a month such as `2026-11`, in Unix milliseconds. */
export const monthStartMs = (month: string): number => Date.parse(`${month}-01T00:00:00Z`)

/**
 * The end of the month of `nowMs`, in Unix milliseconds: the first instant of the next UTC month.
 */
export const monthEndMs = (nowMs: number): number => {
  const date = new Date(nowMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}
