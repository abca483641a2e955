/**
 * A vendor's models and prices, from the pinned price list. Covers tiers for long prompts and
 * prices dated for a given day. Of prices that vary with the hour the highest is used, so that a
 * cap holds at any hour. Fees per request, search or image are not covered. Models without a price
 * per token, deprecated models, and models that neither chat nor embed are left out.
 */
import { findProvider, type ModelInfo, type ModelPrice } from "@pydantic/genai-prices"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { picoFromUsdPerMillion, type PicoUsdPerToken, type Pricing } from "../../domain/Money.ts"
import { claudeModel } from "../anthropic/Model.ts"
import { apiOf } from "./Api.ts"
import { hidesReasoning } from "./HiddenReasoning.ts"
import { modelId } from "./ModelId.ts"
import { type Preset } from "./Vendors.ts"

/**
 * Moving aliases, fine-tuned families, retired completion models and models for media other than
 * text. They are recognised by name, because the list does not mark them.
 */
const notServed =
  /^(~|ft:|ada$|babbage|curie|davinci|text-davinci|gpt-3\.5-0301|gpt-3\.5-turbo-instruct)|\.ft-|:extended$|-online$|transcribe|-tts|realtime|whisper|moderation|-ocr|voxtral|voice|-image|audio|computer-use|deep-research/
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
  const pricing = pricingOf(prices)
  if (id === null || pricing === null) return null
  const embeddings = dearest(prices, "output_mtok", 0) === null || model.id.includes("embed")
  return {
    id,
    upstream,
    contextLength: model.context_window ?? null,
    maxCompletionTokens: null,
    pricing,
    embeddings,
    prefill: preset.dialect === "anthropic" && claudeModel(upstream).prefill,
    hidesReasoning: hidesReasoning({ id, upstream }),
    ...(preset.choosesApi === true && apiOf(upstream) === "responses" ? { api: "responses" } : {})
  }
}

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

const exactNames = (match: ModelInfo["match"]): ReadonlyArray<string> => {
  if ("equals" in match) return [match.equals]
  if ("or" in match) return match.or.flatMap(exactNames)
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

/** Null if the list has no price for prompt tokens. */
const pricingOf = (prices: ReadonlyArray<ModelPrice>): Pricing | null => {
  const at = (promptTokens: number) => ({
    prompt: dearest(prices, "input_mtok", promptTokens),
    completion: dearest(prices, "output_mtok", promptTokens) ?? 0,
    cachedPrompt: dearest(prices, "cache_read_mtok", promptTokens)
  })
  const { prompt, ...base } = at(0)
  if (prompt === null) return null
  const units = [prices.map((price) => [price["input_mtok"], price["output_mtok"], price["cache_read_mtok"]])].flat(2)
  const starts = new Set(
    units.flatMap((unit) => (typeof unit === "object" ? unit.tiers.map(({ start }) => start) : []))
  )
  const tiers = [...starts]
    .sort((a, b) => a - b)
    .map((start) => {
      const tier = at(start + 1)
      return { abovePromptTokens: start, ...tier, prompt: tier.prompt ?? prompt }
    })
  return { prompt, ...base, ...(tiers.length === 0 ? {} : { tiers }) }
}

/** The highest price for a prompt of this length. */
const dearest = (prices: ReadonlyArray<ModelPrice>, unit: string, promptTokens: number): PicoUsdPerToken | null => {
  const usd = prices.flatMap((price) => {
    const value = price[unit]
    if (value === undefined) return []
    if (typeof value === "number") return [value]
    return [value.tiers.findLast(({ start }) => promptTokens > start)?.price ?? value.base]
  })
  return usd.length === 0 ? null : picoFromUsdPerMillion(Math.max(...usd))
}
