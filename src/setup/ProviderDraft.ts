/**
 * A provider that an operator wants to add: checks the choice, and gives the config to test it with
 * and what the settings file will say.
 */
import { Effect, Redacted } from "effect"
import { defaultTimeouts, type ProviderConfig, unknownPolicy } from "../domain/Catalog.ts"
import { type GatewayError, gatewayError, ProviderSetupRefused } from "../domain/Errors.ts"
import { nearest } from "../domain/Nearest.ts"
import { type KeyChoice, type ProviderChoice } from "../gateway/admin/ProviderSetup.ts"
import { presetProvider } from "../providers/presets/presets.ts"
import { type Preset, presets } from "../providers/presets/Vendors.ts"
import { Environment } from "../settings/Environment.ts"
import { isPlainHttpUrl, withoutTrailingSlash } from "../settings/Forms.ts"
import { sealedReference } from "../settings/Sealed.ts"
import { variable } from "../settings/ThisProcess.ts"

export interface Draft {
  readonly slug: string
  /** With the key, to be tested. Of a preset with its models, otherwise without models. */
  readonly config: ProviderConfig
  /** Null: an entry of `providers`. */
  readonly preset: Preset | null
  /** The operator's own server: its models cost nothing. */
  readonly isSelfHosted: boolean
  /** How the settings file names the key. Null: there is none. */
  readonly keyText: string | null
}

export const refused = (
  fault: ProviderSetupRefused["fault"],
  message: string,
  param: string | null = null,
  details: ProviderSetupRefused["details"] = {}
): GatewayError => gatewayError(new ProviderSetupRefused({ fault, message, param, details }))

const invalid = (param: string, message: string) => refused("invalid_provider", message, param)

/** Not the gateway's own secrets: a provider is sent the value. */
const mayBeSent = (name: string): boolean =>
  /(?:KEY|TOKEN)$/i.test(name) && !/^(?:TOLLGATE|OTEL)_/i.test(name) && !(name in Environment.fields)

/** The key, and how the settings file names it. */
export const keyOf = Effect.fnUntraced(function* ({ apiKey, keyEnv }: KeyChoice, slug: string) {
  if (apiKey !== null && keyEnv !== null) return yield* invalid("key_env", "Send api_key or key_env, not both.")
  if (keyEnv !== null) {
    if (!mayBeSent(keyEnv)) {
      const message = `${keyEnv} cannot hold a provider's key: its name has to end in KEY or TOKEN, and it may not be a variable of the gateway itself.`
      return yield* refused("variable_refused", message, "key_env")
    }
    const found = yield* variable(keyEnv)
    if (found !== null) return { key: found, text: `\${${keyEnv}}` }
    const message = `${keyEnv} is not set in the gateway's environment. Set it where the gateway starts, restart the gateway, and add the provider then.`
    return yield* refused("variable_refused", message, "key_env")
  }
  if (apiKey === null) return { key: null, text: null }
  const key = Redacted.value(apiKey).trim()
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return yield* invalid("api_key", "The key has to be one line of visible ASCII characters without spaces.")
  }
  return { key: Redacted.make(key), text: sealedReference(slug) }
})

const slugForm = /^[a-z0-9][a-z0-9._-]{0,63}$/

const addressOf = (choice: ProviderChoice, preset: Preset | null): Effect.Effect<string, GatewayError> => {
  const given = choice.baseUrl ?? preset?.baseUrl ?? null
  if (given === null) {
    const message =
      preset === null
        ? "A provider that is no preset needs its base URL, such as https://api.example.com/v1."
        : `${preset.name} has no address of its own: send its base URL.`
    return Effect.fail(invalid("base_url", message))
  }
  return isPlainHttpUrl(given)
    ? Effect.succeed(withoutTrailingSlash(given))
    : Effect.fail(
        invalid(
          "base_url",
          "The base URL has to be an http:// or https:// address without credentials, query or fragment."
        )
      )
}

const presetOf = (slug: string): Effect.Effect<Preset, GatewayError> => {
  const found = presets.find((preset) => preset.slug === slug)
  if (found !== undefined) return Effect.succeed(found)
  const known = presets.map((preset) => preset.slug)
  const near = nearest(slug, known)
  const message = `There is no such preset.${near === null ? "" : ` Did you mean '${near}'?`} The presets are ${known.join(", ")}. For another server send slug, dialect and base_url.`
  return Effect.fail(refused("unknown_preset", message, "preset"))
}

export const draftOf = Effect.fnUntraced(function* (choice: ProviderChoice): Effect.fn.Return<Draft, GatewayError> {
  const preset = choice.preset === null ? null : yield* presetOf(choice.preset)
  const isSelfHosted = preset?.envHolds === "base_url"
  const isOwn = preset !== null && !isSelfHosted
  if (preset !== null && choice.dialect !== null) return yield* invalid("dialect", "A preset brings its dialect.")
  if (isOwn && choice.slug !== null && choice.slug !== preset.slug) {
    return yield* invalid("slug", `A preset keeps its slug, ${preset.slug}. Another slug needs dialect and base_url.`)
  }
  if (isOwn && choice.name !== null) return yield* invalid("name", "A preset brings its name.")
  const slug = choice.slug ?? preset?.slug ?? null
  if (slug === null) return yield* invalid("slug", "A provider that is no preset needs a slug, such as acme.")
  if (!slugForm.test(slug)) {
    return yield* invalid(
      "slug",
      "The slug has to be at most 64 lower-case letters, digits, dots, dashes and underscores."
    )
  }
  const dialect = preset?.dialect ?? choice.dialect
  if (dialect === null)
    return yield* invalid("dialect", "A provider that is no preset needs its dialect, such as openai.")
  const baseUrl = yield* addressOf(choice, preset)
  const { key, text } = yield* keyOf(choice, slug)
  if (isOwn) {
    if (key === null) return yield* invalid("api_key", `${preset.name} needs a key: send api_key or key_env.`)
    return { slug, preset, isSelfHosted, keyText: text, config: presetProvider(preset, { apiKey: key, baseUrl }) }
  }
  const config: ProviderConfig = {
    slug,
    name: choice.name ?? preset?.name ?? slug,
    dialect,
    baseUrl,
    apiKey: key,
    auth: key === null ? { type: "none" } : { type: "bearer" },
    headers: {},
    query: {},
    dataPolicy: preset?.policy ?? unknownPolicy,
    timeouts: defaultTimeouts,
    models: []
  }
  return { slug, preset: null, isSelfHosted, keyText: text, config }
})
