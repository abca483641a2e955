/**
 * Prices of classes of tokens that vendors price apart, fees per call, and factors of service
 * tiers, as models of providers and of presets have them. USD per million tokens or per thousand
 * calls become integer pico-USD.
 */
import { Schema } from "effect"
import { picoFromListed, type Pricing } from "../../domain/pricing/Money.ts"
import { type ByClass, mapClasses, type RareClass } from "../../domain/pricing/UsageClass.ts"
import { number } from "../Forms.ts"

export const usdPerMillion = "USD per million tokens, from 0 to 1000000"
export const price = () => number(usdPerMillion, 0, 1_000_000)
const fee = () => Schema.optionalKey(number("USD per thousand calls, from 0 to 1000000", 0, 1_000_000))
const maybe = () => Schema.optionalKey(price())

export const rarePrices = {
  cache_write: maybe(),
  cache_write_1h: maybe(),
  prompt_audio: maybe(),
  cached_audio: maybe(),
  completion_audio: maybe(),
  completion_image: maybe(),
  request: fee(),
  web_search: fee()
} satisfies Record<RareClass, unknown>

/** Factors of the prices, by the provider's name of the service tier. */
export const serviceTiers = {
  service_tiers: Schema.optionalKey(
    Schema.Record(Schema.String, number("the factor of the prices, from 0 to 100", 0, 100))
  )
}

export const rareOf = (listed: ByClass): ByClass => mapClasses(listed, (usd, name) => picoFromListed(name, usd))

/** Tiers of replies are compared in lower case. */
export const serviceTiersOf = (factors: Readonly<Record<string, number>> | undefined): Pick<Pricing, "serviceTiers"> =>
  factors === undefined
    ? {}
    : {
        serviceTiers: Object.fromEntries(Object.entries(factors).map(([tier, factor]) => [tier.toLowerCase(), factor]))
      }

const PricingChanges = Schema.Struct({ ...rarePrices, ...serviceTiers })

/** Prices that are added to those of a preset's model. */
export const pricingChanges = () => Schema.optionalKey(PricingChanges)

/** The pricing with the changes, which hold at every length of a prompt. */
export const changedPricing = (
  pricing: Pricing,
  factors: Readonly<Record<string, number>>,
  { service_tiers, ...listed }: typeof PricingChanges.Type = {}
): Pricing => {
  const rare = rareOf(listed)
  const withRare = <P extends Pricing>(prices: P): P =>
    Object.keys(rare).length === 0 ? prices : { ...prices, rare: { ...prices.rare, ...rare } }
  const tiers = { ...pricing.serviceTiers, ...serviceTiersOf({ ...factors, ...service_tiers }).serviceTiers }
  return {
    ...withRare(pricing),
    ...(pricing.tiers === undefined ? {} : { tiers: pricing.tiers.map(withRare) }),
    ...(Object.keys(tiers).length === 0 ? {} : { serviceTiers: tiers })
  }
}
