/** Puts the keys that the database keeps into the settings. */
import { Effect } from "effect"
import { type ReloadReport } from "../gateway/admin/SettingsReload.ts"
import { type SealedKeys } from "../gateway/admin/SealedKeys.ts"
import { sealedNames, withSealedKeys } from "../settings/Sealed.ts"
import { Settings, type SettingsShape } from "../Settings.ts"
import { type StoreError } from "../store/StoreError.ts"

/**
 * The settings with the keys that they refer to as `${sealed:…}`. A provider without any key that
 * can be opened is left out, and the log says so: a gateway with one key less still serves.
 */
export const unsealed = Effect.fnUntraced(function* (
  settings: SettingsShape,
  keys: SealedKeys
): Effect.fn.Return<SettingsShape, StoreError> {
  if (sealedNames(settings).size === 0) return settings
  const { leftOut, missing, settings: complete } = withSealedKeys(settings, yield* keys.open)
  for (const name of missing) {
    yield* Effect.logError(
      `the sealed key ${name} is not in the database, or was sealed under another admin key. Enter it again: tollgate providers set-key ${name}`
    )
  }
  for (const slug of leftOut) yield* Effect.logError(`the provider ${slug} is left out, because its key is missing`)
  return complete
})

const unreadableKeys = {
  setting: "api_key",
  problem: "is in the database, which does not answer",
  expected: "a reload once it answers"
}

/** The settings as file and environment have them now. Fails with the report of a reload. */
export const freshSettings = (keys: SealedKeys): Effect.Effect<SettingsShape, ReloadReport> =>
  Effect.flatMap(Settings.reload, (settings) => unsealed(settings, keys)).pipe(
    Effect.tapError(({ message }) =>
      Effect.logError(`the settings file was not reloaded, the current settings stay in force: ${message}`)
    ),
    Effect.mapError((error) => ({
      isReloaded: false,
      changed: [],
      needsRestart: [],
      faults: error._tag === "SettingsError" ? error.faults : [unreadableKeys]
    }))
  )
