/**
 * A vendor's models and prices, from the pinned price list. Covers tiers for long prompts, prices
 * dated for a given day, prices of cache writes and of audio, and fees per call. Of prices that
 * vary with the hour the highest is used, so that a cap holds at any hour. PublishedPrices.ts adds
 * prices that the list leaves out. Models without a price per token, deprecated models, and models
 * that neither chat nor embed are left out.
 */
import { findProvider, type ModelInfo, type ModelPrice } from "@pydantic/genai-prices"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { picoFromListed, type PicoUsdPerToken, type Prices, type Pricing } from "../../domain/pricing/Money.ts"
import { type ByClass, rareClasses, type UsageClass } from "../../domain/pricing/UsageClass.ts"
import { claudeModel } from "../anthropic/Model.ts"
import { apiOf } from "./Api.ts"
import { hidesReasoning } from "./HiddenReasoning.ts"
import { modelId } from "./ModelId.ts"
import { claudeCacheWrites, publishedPrices } from "./PublishedPrices.ts"
import { type Preset } from "./Vendors.ts"

/**
 * Moving aliases, fine-tuned families, retired completion models and models for media other than
 * text. They are recognised by name, because the list does not mark them.
 */
const notServed =
  /^(~|ft:|ada$|babbage|curie|davinci|text-davinci|gpt-3\.5-0301|gpt-3\.5-turbo-instruct)|\.ft-|:extended$|-online$|transcribe|-tts|realtime|whisper|moderation|-ocr|voxtral|voice|-image|(?<!^gpt-)audio|computer-use|deep-research/
/**
 * Models in an author's price list that its API does not serve: open weights and retired models.
 */
const notSoldBy: Readonly<Record<string, RegExp>> = {
  openai: /^gpt-oss/,
  azure: /^gpt-oss/,
  // Google's list includes models that its cloud resells.
  gemini: /^(?!gemini-(2\.5|[3-9]|embedding))|2\.5-flash-preview|live|omni/,
  anthropic: /^claude-(?:v?[12]|3|(?:opus|sonnet)-4-0)/
}

export const offersOf = (preset: Preset, nowMs: number): ReadonlyArray<ModelOffer> => {
  const offers = new Map<string, ModelOffer>()
  for (const list of preset.priceLists) {
    for (const model of findProvider({ providerId: list })?.models ?? []) {
      const offer = offerOf(preset, model, nowMs)
      if (offer !== null && !offers.has(offer.id)) offers.set(offer.id, offer)
    }
  }
  return [...offers.values()]
}

const offerOf = (preset: Preset, model: ModelInfo, nowMs: number): ModelOffer | null => {
  if (model.deprecated === true || notServed.test(model.id) || notSoldBy[preset.slug]?.test(model.id) === true)
    return null
  const upstream = upstreamOf(model)
  const id = modelId(preset, model.id)
  const prices = inForce(model, nowMs)
  const pricing = pricingOf(prices, (listed) => ({
    ...claudeCacheWrites({ id: model.id, upstream }, listed),
    ...publishedPrices(preset, upstream, listed)
  }))
  if (id === null || pricing === null) return null
  const embeddings = dearest(prices, "completion", 0) === null || model.id.includes("embed")
  return {
    id,
    upstream,
    contextLength: model.context_window ?? null,
    maxCompletionTokens: null,
    pricing: preset.serviceTiers === undefined ? pricing : { ...pricing, serviceTiers: preset.serviceTiers },
    embeddings,
    prefill: preset.dialect === "anthropic" && claudeModel(upstream).prefill,
    hidesReasoning: hidesReasoning({ id, upstream }),
    aliases: aliasesOf(model, upstream),
    ...(preset.choosesApi === true && apiOf(upstream) === "responses" ? { api: "responses" } : {})
  }
}

/**
 * Further names of a model, with the name that the vendor is called with: other spellings
 * (`gpt-5-1`), snapshots (`gpt-4o-2024-08-06`) and the list's prefixes. Other names in an entry are
 * models of their own at the same price.
 */
const aliasesOf = ({ id, match }: ModelInfo, upstream: string): Readonly<Record<string, string>> => {
  const exact = exactNames(match, false)
  const bases = [upstream, id].map((name) => dashed(name).replace(/-latest$/, ""))
  return Object.fromEntries(
    exactNames(match).flatMap((name) => {
      const spelling = [upstream, ...exact].find((other) => dashed(other) === dashed(name)) ?? upstream
      const isOwn = bases.some(
        (base) => dashed(name).startsWith(base) && snapshot.test(dashed(name).slice(base.length))
      )
      return isOwn || !exact.includes(name) ? [[name, spelling] as const] : []
    })
  )
}

const snapshot = /^(?:-latest|-\d{4}|-\d{8}|-\d{4}-\d{2}-\d{2})?$/

/** Names that differ in dots and dashes only are spellings of one. */
const dashed = (name: string): string => name.replaceAll(".", "-")

/**
 * The price list's entries are patterns. Takes the entry's own id if the pattern matches it,
 * otherwise the first exact name in the pattern.
 */
const upstreamOf = (model: ModelInfo): string => {
  const names = exactNames(model.match)
  if (names.includes(model.id)) return model.id
  const latest = names.find((name) => name.endsWith("-latest"))
  return latest ?? names[0] ?? model.id
}

/** `prefixes`: whether prefixes count as names. */
const exactNames = (match: ModelInfo["match"], prefixes = true): ReadonlyArray<string> => {
  if ("equals" in match) return [match.equals]
  if ("or" in match) return match.or.flatMap((inner) => exactNames(inner, prefixes))
  if (!prefixes) return []
  // A prefix is a model name itself, unless it ends with "-", such as `magistral-small-`.
  return "starts_with" in match
    ? [match.starts_with.endsWith("-") ? `${match.starts_with}latest` : match.starts_with]
    : []
}

/**
 * The prices of the day: the last dated entry that has begun, and all entries for certain hours of
 * the day.
 */
const inForce = ({ prices }: ModelInfo, nowMs: number): ReadonlyArray<ModelPrice> => {
  if (!Array.isArray(prices)) return [prices]
  const dated = prices.filter(({ constraint }) => constraint?.type !== "time_of_date")
  const begun = dated.filter(
    ({ constraint }) => constraint?.type !== "start_date" || Date.parse(constraint.start_date) <= nowMs
  )
  const hourly = prices.filter(({ constraint }) => constraint?.type === "time_of_date")
  return [...begun.slice(-1), ...hourly].map((entry) => entry.prices)
}

/** The price list's names of the classes' prices. */
export const listedUnits: Readonly<Record<UsageClass, string>> = {
  prompt: "input_mtok",
  completion: "output_mtok",
  cached_prompt: "cache_read_mtok",
  cache_write: "cache_write_mtok",
  cache_write_1h: "cache_write_1h_mtok",
  prompt_audio: "input_audio_mtok",
  cached_audio: "cache_audio_read_mtok",
  completion_audio: "output_audio_mtok",
  completion_image: "output_image_mtok",
  request: "requests_kcount",
  web_search: "web_searches_kcount"
}

/** Null if the list has no price for prompt tokens. */
const pricingOf = (prices: ReadonlyArray<ModelPrice>, published: (listed: Prices) => ByClass): Pricing | null => {
  const first = pricesAt(prices, 0, published)
  if (first === null) return null
  const units = prices.flatMap((price) => Object.values(listedUnits).map((unit) => price[unit]))
  const starts = new Set(
    units.flatMap((unit) => (typeof unit === "object" ? unit.tiers.map(({ start }) => start) : []))
  )
  const tiers = [...starts]
    .sort((a, b) => a - b)
    .map((start) => ({ abovePromptTokens: start, ...(pricesAt(prices, start + 1, published) ?? first) }))
  return { ...first, ...(tiers.length === 0 ? {} : { tiers }) }
}

/** The prices for a prompt of this length. */
const pricesAt = (
  prices: ReadonlyArray<ModelPrice>,
  promptTokens: number,
  published: (listed: Prices) => ByClass
): Prices | null => {
  const at = (name: UsageClass) => dearest(prices, name, promptTokens)
  const prompt = at("prompt")
  if (prompt === null) return null
  const main = { prompt, completion: at("completion") ?? 0, cachedPrompt: at("cached_prompt") }
  const listed = Object.fromEntries(
    rareClasses.flatMap((name) => {
      const price = at(name)
      return price === null ? [] : [[name, price] as const]
    })
  )
  const rare = { ...published({ ...main, rare: listed }), ...listed }
  return { ...main, ...(Object.keys(rare).length === 0 ? {} : { rare }) }
}

/** The highest price for a prompt of this length. */
const dearest = (prices: ReadonlyArray<ModelPrice>, name: UsageClass, promptTokens: number): PicoUsdPerToken | null => {
  const usd = prices.flatMap((price) => {
    const value = price[listedUnits[name]]
    if (value === undefined) return []
    if (typeof value === "number") return [value]
    return [value.tiers.findLast(({ start }) => promptTokens > start)?.price ?? value.base]
  })
  return usd.length === 0 ? null : picoFromListed(name, Math.max(...usd))
}
