/**
 * One model of a provider in the settings file, to the domain's record: USD per million tokens become integer pico-USD a token.
 * A price that is left out would be a hole in every budget, so prices are required, even where they are 0.
 */
import { Result, Schema } from "effect"
import { type ModelOffer } from "../domain/Catalog.ts"
import { picoFromUsdPerMillion } from "../domain/Money.ts"
import { decodeAt, type Faults, type Place, renderPath } from "./Faults.ts"
import { boolean, integer, modelId, number, orNull, text } from "./Forms.ts"

const usdPerMillion = "USD per million tokens, from 0 to 1000000"
const tokens = () => integer("a whole number of tokens from 1 to 100000000", 1, 100_000_000)
const price = () => number(usdPerMillion, 0, 1_000_000)

const ModelEntry = Schema.Struct({
  id: modelId(),
  upstream: text("what the provider calls the model"),
  context_length: Schema.optionalKey(tokens()),
  max_completion_tokens: Schema.optionalKey(tokens()),
  pricing: Schema.Struct({
    prompt: price(),
    /** Only an embeddings model can do without. */
    completion: Schema.optionalKey(price()),
    cached_prompt: Schema.optionalKey(orNull(price(), usdPerMillion))
  }),
  embeddings: Schema.optionalKey(boolean()),
  prefill: Schema.optionalKey(boolean())
})

/** Decodes the model at `place`. */
export const decodeModel = (place: Place): Result.Result<ModelOffer, Faults> =>
  Result.flatMap(decodeAt(ModelEntry, place), (entry) =>
    entry.pricing.completion === undefined && entry.embeddings !== true
      ? Result.fail([
          {
            setting: renderPath([...place.path, "pricing", "completion"]),
            problem: "is missing",
            expected: `${usdPerMillion} (only a model with embeddings: true can do without)`
          }
        ])
      : Result.succeed(offerOf(entry))
  )

const offerOf = (entry: typeof ModelEntry.Type): ModelOffer => ({
  id: entry.id,
  upstream: entry.upstream,
  contextLength: entry.context_length ?? null,
  maxCompletionTokens: entry.max_completion_tokens ?? null,
  pricing: {
    prompt: picoFromUsdPerMillion(entry.pricing.prompt),
    completion: picoFromUsdPerMillion(entry.pricing.completion ?? 0),
    cachedPrompt:
      entry.pricing.cached_prompt === undefined || entry.pricing.cached_prompt === null
        ? null
        : picoFromUsdPerMillion(entry.pricing.cached_prompt)
  },
  embeddings: entry.embeddings ?? false,
  prefill: entry.prefill ?? false
})
