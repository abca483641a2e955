/**
 * A settings source from literals: an environment and, if `file` is given, the text of the settings
 * file.
 */
import { Effect } from "effect"
import { type SettingsSource } from "../../src/settings/SettingsSource.ts"

export const sourceOf = (
  env: Record<string, string>,
  file: string | null = null,
  path = "./tollgate.yaml"
): SettingsSource => ({
  env,
  readFile: (asked) => Effect.succeed(asked === path ? file : null),
  isTerminal: false
})
