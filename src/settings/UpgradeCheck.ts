/**
 * What this version makes of settings that were written for another one: faults, and the changes of
 * names and defaults that concern them. It never has a value of a setting.
 */
import { Effect, type Redacted, Result } from "effect"
import { defaultSettings, Settings } from "../Settings.ts"
import { type SettingChange, settingChanges } from "./Changes.ts"
import { decodeEnvironment, presentVariables } from "./Environment.ts"
import { type Faults } from "./Faults.ts"
import { readConfig } from "./ReadConfig.ts"
import { type SettingsSource } from "./SettingsSource.ts"

export interface SettingsReport {
  /** Faults with which this version does not start. */
  readonly faults: Faults
  readonly changes: ReadonlyArray<SettingChange>
  /** Where the data are. Null: the variables that say so are wrong. */
  readonly data: { readonly databaseUrl: Redacted.Redacted | null; readonly dataDir: string } | null
}

const isWithin = (name: string, setting: string): boolean => name === setting || name.startsWith(`${setting}.`)

/**
 * The changes that concern these settings: old names that are set, and new defaults of what is not
 * set.
 */
export const concerning = (
  changes: ReadonlyArray<SettingChange>,
  set: ReadonlyArray<string>
): ReadonlyArray<SettingChange> =>
  changes.filter(({ kind, setting }) => set.some((name) => isWithin(name, setting)) === (kind !== "default"))

export const examineSettings = Effect.fn("examineSettings")(function* (
  source: SettingsSource,
  changes: ReadonlyArray<SettingChange> = settingChanges
): Effect.fn.Return<SettingsReport> {
  const loaded = yield* Effect.result(Settings.load(source))
  const env = presentVariables(source.env)
  const { members = [] } = yield* readConfig(source)
  const faults = Result.isFailure(loaded) ? loaded.failure.faults : []
  const variables = decodeEnvironment(env)
  return {
    faults,
    // A file with a fault of its own still names what it sets by its faults.
    changes: concerning(changes, [...Object.keys(env), ...members, ...faults.map(({ setting }) => setting)]),
    data: Result.isFailure(variables)
      ? null
      : {
          databaseUrl: variables.success.DATABASE_URL ?? null,
          dataDir: variables.success.TOLLGATE_DATA_DIR ?? defaultSettings.dataDir
        }
  }
})

/** The check of this process's environment and settings file. */
export const examineOwnSettings = Effect.flatMap(Settings.own, (source) => examineSettings(source))
