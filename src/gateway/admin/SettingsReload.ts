/** Reads the settings file again, on request. */
import { Context, Effect } from "effect"

export interface ReloadReport {
  /** False: the file is faulty, and the settings in force stay. */
  readonly isReloaded: boolean
  /** The members that changed, under the names of the file. */
  readonly changed: ReadonlyArray<string>
  /** Members that differ from the file until the gateway restarts. */
  readonly needsRestart: ReadonlyArray<string>
  readonly faults: ReadonlyArray<{
    readonly setting: string
    readonly problem: string
    readonly expected: string
  }>
}

/** By default there is no file to read. */
export const SettingsReload = Context.Reference<Effect.Effect<ReloadReport>>("tollgate/gateway/admin/SettingsReload", {
  defaultValue: () => Effect.succeed({ isReloaded: true, changed: [], needsRestart: [], faults: [] })
})
