/**
 * Decodes the `presets` section of the settings file: time limits, a data policy and APIs that
 * replace a preset's, and prices that its list does not have. A preset that no key switches on is
 * left as it is.
 */
import { type Result, Schema } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { presets } from "../../providers/presets/Vendors.ts"
import { decodeAt, type Faults, type Place, renderPath } from "../Faults.ts"
import { api } from "./ModelEntry.ts"
import { accountObjects, DataPolicyEntry, dataPolicyOf } from "./ProviderEntries.ts"
import { ParametersEntry, parametersOf } from "./ParametersEntry.ts"
import { changedPricing, pricingChanges, serviceTiers } from "./PricesEntry.ts"
import { TimeoutsEntry, timeoutsOf } from "./TimeoutsEntry.ts"

const ModelChanges = Schema.Struct({ timeouts: Schema.optionalKey(TimeoutsEntry), pricing: pricingChanges() })
const PresetEntry = Schema.Struct({
  timeouts: Schema.optionalKey(TimeoutsEntry),
  account_objects: Schema.optionalKey(accountObjects()),
  data_policy: Schema.optionalKey(DataPolicyEntry),
  /** Of all its models. */
  ...serviceTiers,
  /** By model id. */
  models: Schema.optionalKey(Schema.Record(Schema.String, ModelChanges))
})

/** Only the `openai` dialect has two APIs, and servers that differ in what they take. */
const OpenAiPresetEntry = Schema.Struct({
  ...PresetEntry.fields,
  api: Schema.optionalKey(api()),
  parameters: Schema.optionalKey(ParametersEntry),
  models: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Struct({ ...ModelChanges.fields, api: Schema.optionalKey(api()) }))
  )
})

/** By slug. */
export type PresetChanges = Readonly<Record<string, typeof OpenAiPresetEntry.Type | undefined>>

export const decodePresets = (place: Place): Result.Result<PresetChanges, Faults> => decodeAt(PresetEntries, place)

const PresetEntries = Schema.Struct(
  Object.fromEntries(
    presets.map(({ dialect, slug }) => [
      slug,
      Schema.optionalKey(dialect === "openai" ? OpenAiPresetEntry : PresetEntry)
    ])
  )
)

/** The provider of a preset, changed as the settings file says. */
export const changed = (provider: ProviderConfig, changes: PresetChanges): ProviderConfig => {
  const change = changes[provider.slug] ?? {}
  const { api, data_policy: policy = {}, models = {}, parameters, service_tiers: factors = {}, timeouts = {} } = change
  return {
    ...provider,
    ...parametersOf(parameters),
    ...(change.account_objects === "allow" ? { accountObjects: true } : {}),
    dataPolicy: dataPolicyOf(policy, provider.dataPolicy),
    timeouts: { ...provider.timeouts, ...timeoutsOf(timeouts) },
    models: provider.models.map((offer) => {
      const own = models[offer.id]
      const chosen = own?.api ?? api
      return {
        ...offer,
        pricing: changedPricing(offer.pricing, factors, own?.pricing),
        ...(chosen === undefined ? {} : { api: chosen }),
        ...(own?.timeouts === undefined ? {} : { timeouts: timeoutsOf(own.timeouts) })
      }
    })
  }
}

/** Models of `presets` that their preset does not have. */
export const unknownModels = (provider: ProviderConfig, changes: PresetChanges): Faults =>
  Object.keys(changes[provider.slug]?.models ?? {}).flatMap((id) =>
    provider.models.some((offer) => offer.id === id)
      ? []
      : [
          {
            setting: renderPath(["presets", provider.slug, "models", id]),
            problem: "is not a model of this preset",
            expected: "a model's id, as GET /v1/models lists it"
          }
        ]
  )
