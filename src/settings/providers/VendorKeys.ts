/**
 * Vendors enabled by their keys: each preset variable that is set (`OPENAI_API_KEY`, …) enables the
 * preset's provider. A variable in the plural (`OPENAI_API_KEYS`) holds several keys of the vendor,
 * separated by commas. A preset whose slug the settings file uses is left to the file. A preset
 * without a known address needs one, and a preset without known models needs the file.
 */
import { Redacted, Result } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { presetProvider } from "../../providers/presets/presets.ts"
import { type Preset, presets } from "../../providers/presets/Vendors.ts"
import { type EnvironmentVariables } from "../Environment.ts"
import { decodeAt, type Faults } from "../Faults.ts"
import { httpUrl, secret } from "../Forms.ts"
import { collect } from "../Lists.ts"
import { keyFaults, keysOf } from "./KeyLists.ts"

const key = (preset: Preset) =>
  secret(`the vendor's key, without spaces, commas or line breaks; several keys go into ${pluralOf(preset)}`, (value) =>
    /^[^\s,]+$/.test(value)
  )

const keys = secret("the vendor's keys, separated by commas", (value) =>
  value.split(",").every((part) => /^\S+$/.test(part.trim()))
)

/** The variable that holds several keys. */
const pluralOf = ({ env }: Preset): string => `${env}S`

/**
 * Providers of the presets that `env` enables, without those whose slug is in `replaced`. `env` has
 * no empty variables.
 */
export const vendorProviders = (
  env: EnvironmentVariables,
  replaced: ReadonlySet<string>
): Result.Result<ReadonlyArray<ProviderConfig>, Faults> =>
  collect(
    presets.filter((preset) => isOn(preset, env) && !replaced.has(preset.slug)).map((preset) => switchOn(preset, env)),
    []
  )

const isOn = (preset: Preset, env: EnvironmentVariables): boolean =>
  env[preset.env] !== undefined || (preset.envHolds === "api_key" && env[pluralOf(preset)] !== undefined)

type Keys = Pick<ProviderConfig, "apiKey" | "apiKeys">

/** The keys of the vendor, in one variable. */
const keysIn = (preset: Preset, env: EnvironmentVariables): Result.Result<Keys, Faults> => {
  const plural = pluralOf(preset)
  const single = env[preset.env]
  const several = env[plural]
  if (several === undefined) {
    const place = { value: single, path: [preset.env], hidden: nothing }
    return Result.map(decodeAt(key(preset), place), (apiKey) => keysOf([apiKey]))
  }
  if (single !== undefined) {
    const problem = `is set together with ${preset.env}`
    return Result.fail([{ setting: plural, problem, expected: `all keys in ${plural}, or one in ${preset.env}` }])
  }
  return Result.flatMap(decodeAt(keys, { value: several, path: [plural], hidden: nothing }), (list) => {
    const all = Redacted.value(list)
      .split(",")
      .map((part) => Redacted.make(part.trim()))
    const faults = keyFaults(plural, all, (index) => `${plural}[${index}]`)
    return faults.length === 0 ? Result.succeed(keysOf(all)) : Result.fail(faults)
  })
}

const switchOn = (preset: Preset, env: EnvironmentVariables): Result.Result<ProviderConfig, Faults> => {
  const keyed = preset.envHolds === "api_key"
  const parts = {
    keys: keyed ? keysIn(preset, env) : Result.succeed<Keys>({ apiKey: null }),
    baseUrl: addressOf(preset, env)
  }
  const all: ReadonlyArray<Result.Result<unknown, Faults>> = Object.values(parts)
  const faults = all.flatMap((part) => (Result.isFailure(part) ? part.failure : []))
  if (faults.length > 0) return Result.fail(faults)
  return Result.flatMap(Result.all(parts), ({ baseUrl, keys: held }) => {
    const provider = presetProvider(preset, baseUrl === null ? held : { ...held, baseUrl })
    if (provider.models.length > 0) return Result.succeed(provider)
    const problem = `enables ${preset.name}, whose models are unknown`
    const expected = `a provider with the slug ${preset.slug} and its models in the settings file`
    return Result.fail([{ setting: variableOf(preset, env), problem, expected }])
  })
}

/** `null`: the preset's own address. */
const addressOf = (preset: Preset, env: EnvironmentVariables): Result.Result<string | null, Faults> => {
  const name = preset.envHolds === "base_url" ? preset.env : preset.baseUrlEnv
  const form = httpUrl(preset.baseUrl ?? "http://127.0.0.1:8000/v1")
  if (name === null) return Result.succeed(null)
  if (env[name] !== undefined) return decodeAt(form, { value: env[name], path: [name], hidden: nothing })
  if (preset.baseUrl !== null) return Result.succeed(null)
  const problem = `is missing though ${variableOf(preset, env)} is set`
  return Result.fail([{ setting: name, problem, expected: `the address of ${preset.name}, which has no default` }])
}

/** The variable that enables the preset. */
const variableOf = (preset: Preset, env: EnvironmentVariables): string =>
  env[preset.env] === undefined ? pluralOf(preset) : preset.env

const nothing: ReadonlySet<string> = new Set()
