/**
 * What a vendor offers at which price, out of the pinned price list: the tiers of long prompts, the price in force on a
 * given day, and of prices that change with the hour the dearest, so that a cap holds at any hour; fees a request, a search
 * or an image are not part of it. Models without a price a token, deprecated ones, and those that neither chat nor
 * embed are left out.
 */
import { findProvider, type ModelInfo, type ModelPrice } from "@pydantic/genai-prices"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { picoFromUsdPerMillion, type PicoUsdPerToken, type Pricing } from "../../domain/Money.ts"
import { claudeModel } from "../anthropic/Model.ts"
import { hidesReasoning } from "./HiddenReasoning.ts"
import { modelId } from "./ModelId.ts"
import { type Preset } from "./Vendors.ts"

/**
 * Moving aliases, fine-tuned families, retired completion models, other trades than text: by name, the list does not
 * tell.
 */
const notServed =
  /^(~|ft:|ada$|babbage|curie|davinci|text-davinci|gpt-3\.5-0301|gpt-3\.5-turbo-instruct)|\.ft-|:extended$|-online$|transcribe|-tts|realtime|whisper|moderation|-ocr|voxtral|voice|-image|audio|computer-use|deep-research/
/** Open weights stand in their author's price list, but not in its API; retired models do too. */
const notSoldBy: Readonly<Record<string, RegExp>> = {
  openai: /^gpt-oss/,
  azure: /^gpt-oss/,
  // Google's list has what its cloud resells, too.
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
    hidesReasoning: hidesReasoning({ id, upstream })
  }
}

/**
 * The list's entries are patterns: the entry's own id where the vendor knows it, else the first name that it matches
 * exactly.
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
  // A pattern that admits its own prefix as a whole name; `magistral-small-` does not.
  return "starts_with" in match
    ? [match.starts_with.endsWith("-") ? `${match.starts_with}latest` : match.starts_with]
    : []
}

/** The prices of the day: the last dated ones that have begun, and any that hold for hours of the day only. */
const inForce = ({ prices }: ModelInfo, nowMs: number): ReadonlyArray<ModelPrice> => {
  if (!Array.isArray(prices)) return [prices]
  const dated = prices.filter(({ constraint }) => constraint?.type !== "time_of_date")
  const begun = dated.filter(
    ({ constraint }) => constraint?.type !== "start_date" || Date.parse(constraint.start_date) <= nowMs
  )
  const hourly = prices.filter(({ constraint }) => constraint?.type === "time_of_date")
  return [...begun.slice(-1), ...hourly].map((entry) => entry.prices)
}

/** Null where the list has no price for a prompt's tokens. */
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

/** The dearest of the prices that hold for a prompt of this length. */
const dearest = (prices: ReadonlyArray<ModelPrice>, unit: string, promptTokens: number): PicoUsdPerToken | null => {
  const usd = prices.flatMap((price) => {
    const value = price[unit]
    if (value === undefined) return []
    if (typeof value === "number") return [value]
    return [value.tiers.findLast(({ start }) => promptTokens > start)?.price ?? value.base]
  })
  return usd.length === 0 ? null : picoFromUsdPerMillion(Math.max(...usd))
}
