/**
 * Decodes one model of a provider in the settings file. USD per million tokens become integer
 * pico-USD per token. Prices are required, even if they are 0, because a missing price would exempt
 * the model from every budget.
 */
import { Result, Schema } from "effect"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { picoFromUsdPerMillion, type Prices } from "../../domain/pricing/Money.ts"
import { hidesReasoning } from "../../providers/presets/HiddenReasoning.ts"
import { claudeCacheWrites } from "../../providers/presets/PublishedPrices.ts"
import { decodeAt, type Faults, member, type Place, renderPath } from "../Faults.ts"
import { boolean, choice, integer, modelId, orNull, text } from "../Forms.ts"
import { entriesOf } from "../Lists.ts"
import { price, rareOf, rarePrices, serviceTiers, serviceTiersOf, usdPerMillion } from "./PricesEntry.ts"
import { TimeoutsEntry, timeoutsOf } from "./TimeoutsEntry.ts"

const tokens = () => integer("a whole number of tokens from 1 to 100000000", 1, 100_000_000)

/** The API of the `openai` dialect. */
export const api = () => choice(["chat", "responses"])

const prices = {
  prompt: price(),
  /** Optional only for embeddings models. */
  completion: Schema.optionalKey(price()),
  cached_prompt: Schema.optionalKey(orNull(price(), usdPerMillion)),
  ...rarePrices
}

const ModelEntry = Schema.Struct({
  id: modelId(),
  upstream: text("what the provider calls the model"),
  context_length: Schema.optionalKey(tokens()),
  max_completion_tokens: Schema.optionalKey(tokens()),
  pricing: Schema.Struct({
    ...prices,
    /** Prices for longer prompts. */
    tiers: Schema.optionalKey(Schema.Array(Schema.Struct({ above_prompt_tokens: tokens(), ...prices }))),
    ...serviceTiers
  }),
  embeddings: Schema.optionalKey(boolean()),
  prefill: Schema.optionalKey(boolean()),
  /** Default: derived from the names. */
  hides_reasoning: Schema.optionalKey(boolean()),
  /** Default: that of the provider. */
  api: Schema.optionalKey(api()),
  /** Those that differ from the provider's. */
  timeouts: Schema.optionalKey(TimeoutsEntry)
})

/** Decodes the model at `place`. */
export const decodeModel = (place: Place): Result.Result<ModelOffer, Faults> =>
  Result.flatMap(decodeAt(ModelEntry, place), (entry) => {
    const faults = [...missingPrices(entry, place), ...repeatedTiers(place)]
    return faults.length > 0 ? Result.fail(faults) : Result.succeed(offerOf(entry))
  })

const missingPrices = ({ embeddings, pricing }: typeof ModelEntry.Type, { path }: Place): Faults => {
  if (embeddings === true) return []
  const fault = (...at: ReadonlyArray<string | number>) => ({
    setting: renderPath([...path, "pricing", ...at, "completion"]),
    problem: "is missing",
    expected: `${usdPerMillion} (optional only for a model with embeddings: true)`
  })
  const tiers = (pricing.tiers ?? []).flatMap(({ completion }, at) =>
    completion === undefined ? [fault("tiers", at)] : []
  )
  return pricing.completion === undefined ? [fault(), ...tiers] : tiers
}

const repeatedTiers = (place: Place): Faults => {
  const bounds = entriesOf(member(member(place, "pricing"), "tiers")).map((tier) => member(tier, "above_prompt_tokens"))
  return bounds.flatMap(({ path, value }, at) => {
    const first = bounds.findIndex((other) => Number(other.value) === Number(value))
    const problem = `repeats ${renderPath(bounds[first]?.path ?? [])}`
    return first < at ? [{ setting: renderPath(path), problem, expected: "a length that no other tier begins at" }] : []
  })
}

const offerOf = (entry: typeof ModelEntry.Type): ModelOffer => ({
  id: entry.id,
  upstream: entry.upstream,
  contextLength: entry.context_length ?? null,
  maxCompletionTokens: entry.max_completion_tokens ?? null,
  pricing: {
    ...pricesOf(entry, entry.pricing),
    ...(entry.pricing.tiers === undefined || entry.pricing.tiers.length === 0
      ? {}
      : {
          tiers: entry.pricing.tiers
            .map((tier) => ({
              abovePromptTokens: tier.above_prompt_tokens,
              ...pricesOf(entry, { ...feesOf(entry.pricing), ...tier })
            }))
            .sort((a, b) => a.abovePromptTokens - b.abovePromptTokens)
        }),
    ...serviceTiersOf(entry.pricing.service_tiers)
  },
  embeddings: entry.embeddings ?? false,
  prefill: entry.prefill ?? false,
  hidesReasoning: entry.hides_reasoning ?? hidesReasoning(entry),
  ...(entry.api === undefined ? {} : { api: entry.api }),
  ...(entry.timeouts === undefined ? {} : { timeouts: timeoutsOf(entry.timeouts) })
})

type Listed = (typeof ModelEntry.Type)["pricing"]

const pricesOf = (
  model: typeof ModelEntry.Type,
  { cached_prompt: cached, completion, prompt, ...rest }: Omit<Listed, "tiers" | "service_tiers">
): Prices => {
  const main = {
    prompt: picoFromUsdPerMillion(prompt),
    completion: picoFromUsdPerMillion(completion ?? 0),
    cachedPrompt: cached === undefined || cached === null ? null : picoFromUsdPerMillion(cached)
  }
  const rare = { ...claudeCacheWrites(model, main), ...rareOf(rest) }
  return {
    ...main,
    ...(Object.keys(rare).length === 0 ? {} : { rare })
  }
}

/** The length of a prompt does not change the fees. */
const feesOf = ({ request, web_search }: { readonly request?: number; readonly web_search?: number }) => ({
  ...(request === undefined ? {} : { request }),
  ...(web_search === undefined ? {} : { web_search })
})
