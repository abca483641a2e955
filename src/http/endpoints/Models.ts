/**
 * The endpoints of models: the models that the key may use, with their providers, prices, data
 * policies and current state.
 */
import { Effect, Layer } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { type ModelEntry, type ModelList } from "../../api/Models.ts"
import { type Candidate, deniesCollection } from "../../domain/Catalog.ts"
import { gatewayError, ModelNotAllowed } from "../../domain/Errors.ts"
import { allowsModel, type KeyRecord } from "../../domain/Key.ts"
import { Planner } from "../../gateway/chat/Planner.ts"
import { allowedAliases } from "../../gateway/routing/Aliases.ts"
import { Catalog, type Model } from "../../gateway/routing/Catalog.ts"
import { Circuits } from "../../gateway/health/Circuits.ts"
import { ProviderStats } from "../../gateway/health/ProviderStats.ts"
import { CurrentKey } from "../../api/Authorization.ts"
import { guard } from "../errors/ErrorResponse.ts"
import { policyOf, prices, tieredPrices } from "./ModelFacts.ts"

type Entry = typeof ModelEntry.Type

const layer = HttpApiBuilder.group(
  Api,
  "models",
  Effect.fnUntraced(function* (handlers) {
    const { listOf, named } = yield* listing
    return handlers.handleAll({
      list: () =>
        guard(Effect.flatMap(CurrentKey, ({ key }) => listOf(({ id }) => allowsModel(key.allowedModels, id), key))),
      retrieve: ({ params }) => guard(Effect.flatMap(CurrentKey, ({ key }) => named(params.model, key))),
      retrieveByAuthor: ({ params }) =>
        guard(Effect.flatMap(CurrentKey, ({ key }) => named(`${params.author}/${params.slug}`, key)))
    })
  })
)

/** For signed-in users: all models and aliases, because grants do not restrict models. */
const layerOwned = HttpApiBuilder.group(
  Api,
  "ownedModels",
  Effect.fnUntraced(function* (handlers) {
    const { listOf } = yield* listing
    return handlers.handle("list", () => listOf(() => true, { allowedModels: null }))
  })
)

/** The admin's view: all models. */
const layerAdmin = HttpApiBuilder.group(
  Api,
  "adminModels",
  Effect.fnUntraced(function* (handlers) {
    const { listOf } = yield* listing
    return handlers.handle("list", () => listOf(() => true))
  })
)

/** Makes the functions that show models. */
const listing = Effect.gen(function* () {
  const catalog = yield* Catalog
  const planner = yield* Planner
  const circuits = yield* Circuits
  const stats = yield* ProviderStats

  const providerOf = (candidate: Candidate) =>
    Effect.map(circuits.stateHere(candidate), ({ state }): Entry["providers"][number] => {
      const { offer, provider } = candidate
      const { calls, firstTokenMs, successRate, throughputTps, wholeMs } = stats.snapshot(provider.slug, offer.id)
      const { training } = provider.dataPolicy
      return {
        slug: provider.slug,
        name: provider.name,
        pricing: tieredPrices(offer.pricing),
        context_length: offer.contextLength,
        max_completion_tokens: offer.maxCompletionTokens,
        data_policy: policyOf(provider),
        tags: [...(training ? [] : ["no-training"]), ...(deniesCollection(provider.dataPolicy) ? ["zdr"] : [])],
        status: state === "open" ? "down" : "ok",
        uptime: calls === 0 ? null : successRate,
        latency_ms: firstTokenMs ?? wholeMs,
        throughput_tps: throughputTps
      }
    })

  const entryOf = (model: Model) =>
    Effect.map(Effect.forEach(model.candidates, providerOf), (providers): Entry | undefined => {
      const [cheapest] = model.candidates.toSorted((a, b) => a.offer.pricing.prompt - b.offer.pricing.prompt)
      if (cheapest === undefined) return undefined
      const { embeddings, pricing } = cheapest.offer
      const contextLength = longest(model.candidates.map(({ offer }) => offer.contextLength))
      const [owner = ""] = model.id.split("/")
      const output = embeddings ? "embeddings" : "text"
      return {
        id: model.id,
        object: "model",
        type: "model",
        created: LISTED_AT_MS / 1000,
        created_at: new Date(LISTED_AT_MS).toISOString(),
        owned_by: owner,
        name: model.id,
        display_name: model.id,
        canonical_slug: model.id,
        description: "",
        context_length: contextLength,
        architecture: {
          modality: `text->${output}`,
          input_modalities: ["text"],
          output_modalities: [output],
          tokenizer: "Other",
          instruct_type: null
        },
        pricing: prices(pricing),
        supported_parameters: embeddings ? ["dimensions", "encoding_format"] : chatParameters,
        default_parameters: null,
        per_request_limits: null,
        supported_voices: null,
        links: { details: `/v1/models#${model.id}` },
        top_provider: {
          context_length: contextLength,
          max_completion_tokens: longest(model.candidates.map(({ offer }) => offer.maxCompletionTokens)),
          is_moderated: false
        },
        providers
      }
    })

  /** The operator's names of models, for a key. A model's own name stays its entry. */
  const aliasesOf = (entries: ReadonlyArray<Entry>, key: Pick<KeyRecord, "allowedModels">): ReadonlyArray<Entry> =>
    allowedAliases(planner.aliases, key.allowedModels).flatMap(({ models, name }) => {
      const entry = entries.find(({ id }) => id === models[0])
      return entry === undefined || entries.some(({ id }) => id === name)
        ? []
        : [{ ...entry, id: name, name, display_name: name, alias_of: models }]
    })

  /** `key`: its aliases are listed too. */
  const listOf = Effect.fnUntraced(function* (
    shown: (model: Model) => boolean,
    key?: Pick<KeyRecord, "allowedModels">
  ) {
    const found = yield* Effect.forEach(catalog.models.filter(shown), entryOf)
    const entries = found.flatMap((entry) => entry ?? [])
    const data = key === undefined ? entries : [...entries, ...aliasesOf(entries, key)]
    // Some hundred models are half a megabyte. To encode them by the schema changes nothing, and
    // takes as long as the rest of the response.
    return HttpServerResponse.jsonUnsafe({
      object: "list",
      data,
      total_count: data.length,
      has_more: false,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      links: { next: null }
    } satisfies typeof ModelList.Type)
  })

  /** The model of a name, if the key may use it. */
  const named = Effect.fnUntraced(function* (name: string, key: KeyRecord) {
    const { id } = yield* Effect.fromResult(planner.resolve(name, key))
    if (!allowsModel(key.allowedModels, id)) return yield* gatewayError(new ModelNotAllowed({ model: id }))
    const model = catalog.models.find((one) => one.id === id)
    const entry = model === undefined ? undefined : yield* entryOf(model)
    return entry ?? (yield* Effect.die(new Error("a resolved model is not in the catalog")))
  })

  return { listOf, named }
})

/**
 * Shown as the day on which a model was made, which vendors do not tell for all: the day of the
 * price list.
 */
const LISTED_AT_MS = Date.UTC(2026, 10, 1)

const chatParameters = [
  "frequency_penalty",
  "logit_bias",
  "logprobs",
  "max_completion_tokens",
  "max_tokens",
  "presence_penalty",
  "reasoning_effort",
  "response_format",
  "seed",
  "stop",
  "temperature",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p"
]

const longest = (lengths: ReadonlyArray<number | null>): number | null =>
  lengths.reduce<number | null>((found, length) => (length === null ? found : Math.max(found ?? 0, length)), null)

export const layers = Layer.mergeAll(layer, layerOwned, layerAdmin)
