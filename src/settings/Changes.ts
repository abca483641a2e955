/**
 * How settings changed from version to version: renamed, removed, or with another default.
 * `tollgate upgrade --check` tells an operator those that concern the settings at hand. A new
 * setting is no change, because nothing that was set before means something else.
 */

export interface SettingChange {
  /** The first version with the change. */
  readonly version: string
  /** The old name: a variable, or the path of a member of the file, such as `routing.retries`. */
  readonly setting: string
  /** `default`: what an operator gets who does not set it. */
  readonly kind: "renamed" | "removed" | "default"
  /** One sentence: the new name, or what to do, or the old and the new default. */
  readonly sentence: string
}

/** There is no released version before 0.1.0, so nothing has changed yet. */
export const settingChanges: ReadonlyArray<SettingChange> = []
