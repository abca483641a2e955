/**
 * What a usage costs, line by line. Each line is one class of tokens or calls at one price, rounded
 * once, so the sums are exact.
 *
 * A class without a price is charged at the dearest price per token of the offer, and its line says
 * so. The same holds for all tokens of a service tier that may be dear and has no price. Nothing is
 * charged at a guess that might be below the vendor's bill.
 */
import {
  type BillLine,
  type Cost,
  costOf,
  type NanoUsd,
  type PicoUsdPerToken,
  type Prices,
  type Pricing,
  type TokenUsage
} from "./Money.ts"
import { isCallClass, isDearTier, isStandardTier, mapClasses, noClasses, type UsageClass } from "./UsageClass.ts"

/**
 * Charged for a call whose fee is unknown: the dearest that vendors publish, 35 USD per thousand.
 */
const DEAREST_FEE: PicoUsdPerToken = 35_000_000_000

/** The factor of a service tier. Null if the tier may be dear and its price is unknown. */
export const tierFactor = ({ serviceTiers = {} }: Pricing, tier: string): number | null =>
  Object.hasOwn(serviceTiers, tier) ? (serviceTiers[tier] ?? null) : isDearTier(tier) ? null : 1

/** The prices for a prompt of this length in a service tier. */
export const pricesFor = (pricing: Pricing, promptTokens: number, serviceTier?: string): Prices => {
  const listed: Prices = pricing.tiers?.findLast(({ abovePromptTokens }) => promptTokens > abovePromptTokens) ?? pricing
  if (serviceTier === undefined) return listed
  const factor = tierFactor(pricing, serviceTier)
  if (factor === 1) return listed
  if (factor !== null) return withTokenPrices(listed, (price) => Math.round(price * factor))
  const most = Math.round(dearest(listed) * Math.max(1, ...Object.values(pricing.serviceTiers ?? {})))
  return withTokenPrices(listed, () => most)
}

const withTokenPrices = (
  { cachedPrompt, completion, prompt, rare }: Prices,
  change: (price: PicoUsdPerToken) => PicoUsdPerToken
): Prices => ({
  prompt: change(prompt),
  completion: change(completion),
  cachedPrompt: cachedPrompt === null ? null : change(cachedPrompt),
  ...(rare === undefined
    ? {}
    : { rare: mapClasses(rare, (price, name) => (isCallClass(name) ? price : change(price))) })
})

/** The highest price of a token. */
const dearest = ({ completion, prompt, rare = noClasses }: Prices): PicoUsdPerToken => {
  let most = Math.max(prompt, completion)
  mapClasses(rare, (price, name) => {
    if (!isCallClass(name)) most = Math.max(most, price)
    return null
  })
  return most
}

/** Null if the offer has no price for the class. */
const ownPrice = (
  name: UsageClass,
  { cachedPrompt, completion, prompt, rare = noClasses }: Prices
): PicoUsdPerToken | null => {
  switch (name) {
    case "prompt":
      return prompt
    case "completion":
      return completion
    // A read from the cache is never dearer than the tokens that it replaces.
    case "cached_prompt":
      return cachedPrompt ?? prompt
    case "cached_audio":
      return rare.cached_audio ?? rare.prompt_audio ?? null
    default:
      return rare[name] ?? null
  }
}

/** The price of a class, or the dearest price known. A model without any price is free. */
export const priceOf = (name: UsageClass, prices: Prices): PicoUsdPerToken => {
  const own = ownPrice(name, prices)
  if (own !== null) return own
  const most = dearest(prices)
  return isCallClass(name) && most > 0 ? Math.max(DEAREST_FEE, prices.rare?.request ?? 0) : most
}

/** Adds a line and answers its amount. */
const addLine = (
  lines: Array<BillLine>,
  prices: Prices,
  isAssumed: boolean,
  name: UsageClass,
  quantity: number
): NanoUsd => {
  if (quantity === 0) return 0
  const price = priceOf(name, prices)
  const nano = costOf(quantity, price)
  const line = { class: name, quantity, price, nano }
  lines.push(ownPrice(name, prices) === null || (isAssumed && !isCallClass(name)) ? { ...line, assumed: true } : line)
  return nano
}

/**
 * The cost of `usage` at the prices of its tiers, for one call. `cacheDiscount` is the difference
 * between the cache price and the prompt price of the tokens that the provider read from its cache.
 * A cache write is part of `prompt`, which is then above the plain price.
 */
export const priceUsage = (usage: TokenUsage, pricing: Pricing, markup: number): Cost => {
  const { completionTokens, promptTokens, rare = noClasses, serviceTier } = usage
  const prices = pricesFor(pricing, promptTokens, serviceTier)
  const isAssumed =
    serviceTier !== undefined && !isStandardTier(serviceTier) && !Object.hasOwn(pricing.serviceTiers ?? {}, serviceTier)
  const lines: Array<BillLine> = []
  const add = (name: UsageClass, quantity: number): NanoUsd => addLine(lines, prices, isAssumed, name, quantity)
  // Dear classes first: counts that exceed the whole are cut where they cost least.
  let left = promptTokens
  const share = (tokens: number | undefined): number => {
    const taken = Math.min(tokens ?? 0, left)
    left -= taken
    return taken
  }
  const write1h = share(rare.cache_write_1h)
  const audio = share(rare.prompt_audio)
  const write = share(rare.cache_write)
  const cachedAudio = share(rare.cached_audio)
  const cached = share(Math.max(0, usage.cachedTokens - cachedAudio))
  const plainNano = add("prompt", left)
  const cachedNano = add("cached_prompt", cached)
  const cachedAudioNano = add("cached_audio", cachedAudio)
  const cacheDiscountNano =
    Math.max(0, costOf(cached, prices.prompt) - cachedNano) +
    (cachedAudio === 0 ? 0 : Math.max(0, costOf(cachedAudio, priceOf("prompt_audio", prices)) - cachedAudioNano))
  const promptNano =
    plainNano +
    add("cache_write", write) +
    add("cache_write_1h", write1h) +
    add("prompt_audio", audio) +
    cachedNano +
    cachedAudioNano +
    cacheDiscountNano
  const image = Math.min(rare.completion_image ?? 0, completionTokens)
  const speech = Math.min(rare.completion_audio ?? 0, completionTokens - image)
  const completionNano =
    add("completion", completionTokens - image - speech) +
    add("completion_audio", speech) +
    add("completion_image", image)
  const requests = prices.rare?.request === undefined ? 0 : 1
  const feesNano = add("request", requests) + add("web_search", rare.web_search ?? 0)
  const totalNano = promptNano + completionNano - cacheDiscountNano + feesNano
  const markupNano = Math.round(totalNano * markup)
  return {
    promptNano,
    completionNano,
    cacheDiscountNano,
    feesNano,
    totalNano,
    markupNano,
    billedNano: totalNano + markupNano,
    lines
  }
}

/**
 * The cost of an answer from the gateway's cache: bills nothing and shows as discount what a new
 * answer would cost without the provider's cache.
 */
export const savedCost = ({ completionTokens, promptTokens, rare = noClasses }: TokenUsage, pricing: Pricing): Cost => {
  const media = mapClasses(rare, (tokens, name) => (mediaClasses.has(name) ? tokens : null))
  const full = priceUsage({ promptTokens, completionTokens, cachedTokens: 0, rare: media }, pricing, 0)
  const savedNano = full.promptNano + full.completionNano
  return {
    ...full,
    cacheDiscountNano: savedNano,
    feesNano: 0,
    totalNano: 0,
    markupNano: 0,
    billedNano: 0,
    lines: []
  }
}

const mediaClasses = new Set<UsageClass>(["prompt_audio", "completion_audio", "completion_image"])
