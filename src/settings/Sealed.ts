/**
 * Keys of providers that the database keeps sealed. The settings file names one as
 * `${sealed:name}`. Settings are read before the database is open, so they carry a mark in its
 * place, and `withSealedKeys` puts the key there.
 */
import { Redacted } from "effect"
import { type ProviderConfig } from "../domain/Catalog.ts"
import { type SettingsShape } from "../Settings.ts"

const form = /^\uE002(.+)\uE003$/

export const markOfSealed = (name: string): string => `\uE002${name}\uE003`

/** How the settings file refers to the key. */
export const sealedReference = (name: string): string => `\${sealed:${name}}`

/** The name of a sealed key; null: it is a key itself. */
const nameOfSealed = (key: Redacted.Redacted): string | null => form.exec(Redacted.value(key))?.[1] ?? null

const keysOf = ({ apiKey, apiKeys }: ProviderConfig): ReadonlyArray<Redacted.Redacted> =>
  apiKeys ?? (apiKey === null ? [] : [apiKey])

/** The names of the sealed keys that the settings refer to. */
export const sealedNames = ({ providers }: Pick<SettingsShape, "providers">): ReadonlySet<string> =>
  new Set(providers.flatMap(keysOf).flatMap((key) => nameOfSealed(key) ?? []))

export interface Unsealed {
  readonly settings: SettingsShape
  /** Names of keys that could not be opened. */
  readonly missing: ReadonlyArray<string>
  /** Slugs of providers that are left out, because none of their keys could be opened. */
  readonly leftOut: ReadonlyArray<string>
}

/** The settings with `opened` keys, by name, in place of their marks. */
export const withSealedKeys = (settings: SettingsShape, opened: ReadonlyMap<string, Redacted.Redacted>): Unsealed => {
  const missing = [...sealedNames(settings)].filter((name) => !opened.has(name))
  const leftOut: Array<string> = []
  const providers = settings.providers.flatMap((provider) => {
    const keys = keysOf(provider)
    if (keys.every((key) => nameOfSealed(key) === null)) return [provider]
    const found = keys.flatMap((key) => {
      const name = nameOfSealed(key)
      return name === null ? [key] : (opened.get(name) ?? [])
    })
    const [first] = found
    if (first === undefined) {
      leftOut.push(provider.slug)
      return []
    }
    const { apiKeys: _, ...rest } = provider
    return [{ ...rest, apiKey: first, ...(found.length > 1 ? { apiKeys: found } : {}) }]
  })
  return { settings: { ...settings, providers }, missing, leftOut }
}
