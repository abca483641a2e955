/**
 * Decodes the `presets` section of the settings file: a key that switches a preset on, its address,
 * time limits, a data policy and APIs that replace a preset's, and prices that its list does not
 * have. A preset that no key switches on is left as it is.
 */
import { Predicate, Result, Schema } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { presetProvider } from "../../providers/presets/presets.ts"
import { presets } from "../../providers/presets/Vendors.ts"
import { decodeAt, type Faults, member, type Place, renderPath } from "../Faults.ts"
import { httpUrl, secret } from "../Forms.ts"
import { api } from "./ModelEntry.ts"
import { accountObjects, DataPolicyEntry, dataPolicyOf } from "./ProviderEntries.ts"
import { ParametersEntry, parametersOf } from "./ParametersEntry.ts"
import { changedPricing, pricingChanges, serviceTiers } from "./PricesEntry.ts"
import { TimeoutsEntry, timeoutsOf } from "./TimeoutsEntry.ts"

const ModelChanges = Schema.Struct({ timeouts: Schema.optionalKey(TimeoutsEntry), pricing: pricingChanges() })
const PresetEntry = Schema.Struct({
  /** Switches the preset on, before a key in the environment. */
  api_key: Schema.optionalKey(secret("the vendor's key, without spaces", (key) => /^\S+$/.test(key))),
  /** Default: the vendor's address. */
  base_url: Schema.optionalKey(httpUrl("https://api.example.com/v1")),
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

/** Slugs of the presets that the section switches on, those of faulty entries included. */
export const keyedPresets = (place: Place): ReadonlyArray<string> =>
  presets.map(({ slug }) => slug).filter((slug) => Predicate.hasProperty(member(place, slug).value, "api_key"))

/** Providers of the presets that the section switches on. `taken`: slugs of `providers`. */
export const presetProviders = (
  changes: PresetChanges,
  taken: ReadonlySet<string>
): Result.Result<ReadonlyArray<ProviderConfig>, Faults> => {
  const faults: Array<Faults[number]> = []
  const fault = (slug: string, name: string, problem: string, expected: string) =>
    void faults.push({ setting: renderPath(["presets", slug, name]), problem, expected })
  const providers = presets.flatMap((preset) => {
    const { api_key: apiKey, base_url: baseUrl } = changes[preset.slug] ?? {}
    if (apiKey === undefined) {
      if (baseUrl !== undefined) fault(preset.slug, "base_url", "is set without api_key", "the vendor's key in api_key")
      return []
    }
    if (taken.has(preset.slug)) {
      fault(preset.slug, "api_key", "is set though providers has an entry with this slug", "one of the two")
    }
    if (preset.envHolds === "base_url") {
      const expected = `a provider with the slug ${preset.slug} and its models`
      fault(preset.slug, "api_key", `enables ${preset.name}, whose models are unknown`, expected)
    } else if (baseUrl === undefined && preset.baseUrl === null) {
      fault(preset.slug, "base_url", "is missing", `the address of ${preset.name}, which has no default`)
    }
    return [presetProvider(preset, baseUrl === undefined ? { apiKey } : { apiKey, baseUrl })]
  })
  return faults.length === 0 ? Result.succeed(providers) : Result.fail(faults)
}

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
