/**
 * Vendors enabled by their keys: each preset variable that is set (`OPENAI_API_KEY`, …) enables the
 * preset's provider. A preset whose slug the settings file uses is left to the file. A preset
 * without a known address needs one, and a preset without known models needs the file.
 */
import { type Redacted, Result } from "effect"
import { type ProviderConfig } from "../domain/Catalog.ts"
import { presetProvider } from "../providers/presets/presets.ts"
import { type Preset, presets } from "../providers/presets/Vendors.ts"
import { type EnvironmentVariables } from "./Environment.ts"
import { decodeAt, type Faults } from "./Faults.ts"
import { httpUrl, secret } from "./Forms.ts"
import { collect } from "./Lists.ts"

const key = secret("the vendor's key, without spaces or line breaks", (value) => /^\S+$/.test(value))

/**
 * Providers of the presets that `env` enables, without those whose slug is in `replaced`. `env` has
 * no empty variables.
 */
export const vendorProviders = (
  env: EnvironmentVariables,
  replaced: ReadonlySet<string>
): Result.Result<ReadonlyArray<ProviderConfig>, Faults> =>
  collect(
    presets
      .filter((preset) => env[preset.env] !== undefined && !replaced.has(preset.slug))
      .map((preset) => switchOn(preset, env)),
    []
  )

const switchOn = (preset: Preset, env: EnvironmentVariables): Result.Result<ProviderConfig, Faults> => {
  const keyed = preset.envHolds === "api_key"
  const parts = {
    apiKey: keyed
      ? decodeAt(key, { value: env[preset.env], path: [preset.env], hidden: nothing })
      : Result.succeed<Redacted.Redacted | null>(null),
    baseUrl: addressOf(preset, env)
  }
  const all: ReadonlyArray<Result.Result<unknown, Faults>> = Object.values(parts)
  const faults = all.flatMap((part) => (Result.isFailure(part) ? part.failure : []))
  if (faults.length > 0) return Result.fail(faults)
  return Result.flatMap(Result.all(parts), ({ apiKey, baseUrl }) => {
    const provider = presetProvider(preset, baseUrl === null ? { apiKey } : { apiKey, baseUrl })
    if (provider.models.length > 0) return Result.succeed(provider)
    const problem = `enables ${preset.name}, whose models are unknown`
    const expected = `a provider with the slug ${preset.slug} and its models in the settings file`
    return Result.fail([{ setting: preset.env, problem, expected }])
  })
}

/** `null`: the preset's own address. */
const addressOf = (preset: Preset, env: EnvironmentVariables): Result.Result<string | null, Faults> => {
  const name = preset.envHolds === "base_url" ? preset.env : preset.baseUrlEnv
  const form = httpUrl(preset.baseUrl ?? "http://127.0.0.1:8000/v1")
  if (name === null) return Result.succeed(null)
  if (env[name] !== undefined) return decodeAt(form, { value: env[name], path: [name], hidden: nothing })
  if (preset.baseUrl !== null) return Result.succeed(null)
  const problem = `is missing though ${preset.env} is set`
  return Result.fail([{ setting: name, problem, expected: `the address of ${preset.name}, which has no default` }])
}

const nothing: ReadonlySet<string> = new Set()
