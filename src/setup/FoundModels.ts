/** The models of a provider that is to be added, and what the settings file says of it. */
import { Result } from "effect"
import { type ModelOffer } from "../domain/Catalog.ts"
import { type GatewayError } from "../domain/Errors.ts"
import { usdPerMillionFromPico } from "../domain/pricing/Money.ts"
import { type AddedModel, type FoundModel, type ListPrices } from "../gateway/admin/ProviderSetup.ts"
import { type Listing } from "../providers/listing/ModelList.ts"
import { type Entry, literal, type ModelLines } from "../settings/file/Rendered.ts"
import { type Draft, refused } from "./ProviderDraft.ts"

const idForm = /^[a-z0-9][\w.-]*\/[\w.:@+-]+$/i

/** The clients' name of a model: its own if it names an author, otherwise under the slug. */
const idOf = (slug: string, upstream: string): string =>
  idForm.test(upstream) ? upstream : `${slug}/${upstream.replaceAll("/", "-")}`

const free: ListPrices = { prompt: 0, completion: 0, cachedPrompt: null }

const ofOffer = ({ pricing, ...offer }: ModelOffer, isListed: boolean | null): FoundModel => ({
  id: offer.id,
  upstream: offer.upstream,
  contextLength: offer.contextLength,
  maxCompletionTokens: offer.maxCompletionTokens,
  embeddings: offer.embeddings,
  pricing: {
    prompt: usdPerMillionFromPico(pricing.prompt),
    completion: usdPerMillionFromPico(pricing.completion),
    cachedPrompt: pricing.cachedPrompt === null ? null : usdPerMillionFromPico(pricing.cachedPrompt)
  },
  isListed
})

/** A preset's models with its prices, or those that the provider lists. */
export const foundModels = (
  { config, isSelfHosted, preset, slug }: Draft,
  { models: listed }: Pick<Listing, "models">
): ReadonlyArray<FoundModel> => {
  if (preset !== null) {
    const names = new Set(listed.map(({ upstream }) => upstream))
    return config.models.map((offer) => ofOffer(offer, names.size === 0 ? null : names.has(offer.upstream)))
  }
  return listed.map((model) => ({
    ...model,
    id: idOf(slug, model.upstream),
    pricing: isSelfHosted ? free : model.pricing,
    isListed: true
  }))
}

const MOST_NAMED = 20

const unpriced = (names: ReadonlyArray<string>, message: string): GatewayError => {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ""
  const listed = names.length === 0 ? "" : ` ${names.slice(0, MOST_NAMED).join(", ")}${more}.`
  return refused("models_unpriced", `${message}${listed}`, "models", { models: names.slice(0, 200) })
}

/** The models to add: the chosen ones, or all whose prices are known. */
export const chosenModels = (
  { slug }: Draft,
  found: ReadonlyArray<FoundModel>,
  chosen: ReadonlyArray<AddedModel> | null
): Result.Result<ReadonlyArray<ModelLines>, GatewayError> => {
  if (chosen === null) {
    const priced = found.flatMap((model) => (model.pricing === null ? [] : [linesOf(model, model.pricing)]))
    if (priced.length > 0) return Result.succeed(priced)
    const message =
      found.length === 0
        ? "The provider lists no models. Name its models, with their prices in USD per million tokens."
        : "The provider does not say its prices. Name the models to add, with their prices in USD per million tokens. It lists:"
    return Result.fail(
      unpriced(
        found.map(({ upstream }) => upstream),
        message
      )
    )
  }
  const all = chosen.map(({ id, pricing, upstream }) => {
    const known = found.find((model) => model.upstream === upstream || model.id === upstream)
    const model: FoundModel = known ?? {
      id: idOf(slug, upstream),
      upstream,
      contextLength: null,
      maxCompletionTokens: null,
      embeddings: /embed/i.test(upstream),
      pricing: null,
      isListed: null
    }
    return { model: id === null ? model : { ...model, id }, pricing: pricing ?? model.pricing }
  })
  const lines = all.flatMap(({ model, pricing }) => (pricing === null ? [] : [linesOf(model, pricing)]))
  return lines.length === all.length
    ? Result.succeed(lines)
    : Result.fail(
        unpriced(
          all.flatMap(({ model, pricing }) => (pricing === null ? [model.upstream] : [])),
          "These models need prices in USD per million tokens:"
        )
      )
}

const linesOf = (model: FoundModel, { cachedPrompt, completion, prompt }: ListPrices): ModelLines => ({
  id: model.id,
  upstream: literal(model.upstream),
  ...(model.contextLength === null ? {} : { context_length: model.contextLength }),
  ...(model.maxCompletionTokens === null ? {} : { max_completion_tokens: model.maxCompletionTokens }),
  ...(model.embeddings ? { embeddings: true } : {}),
  pricing: { prompt, completion, ...(cachedPrompt === null ? {} : { cached_prompt: cachedPrompt }) }
})

/** The entry of `providers`. */
export const entryOf = ({ config, isSelfHosted, keyText }: Draft, models: ReadonlyArray<ModelLines>): Entry => {
  const { dataPolicy: policy } = config
  return {
    slug: config.slug,
    ...(config.name === config.slug ? {} : { name: literal(config.name) }),
    dialect: config.dialect,
    base_url: literal(config.baseUrl),
    ...(keyText === null ? {} : { api_key: keyText }),
    ...(isSelfHosted
      ? {
          data_policy: {
            training: policy.training,
            retains_prompts: policy.retainsPrompts,
            retention_days: policy.retentionDays ?? 0,
            zdr: policy.zdr
          }
        }
      : {}),
    models
  }
}
