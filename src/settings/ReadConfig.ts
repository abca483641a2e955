/** Reads the settings file of a source. */
import { Effect } from "effect"
import { decodeConfig, emptyConfig, failedConfig, type ReadConfig } from "./ConfigFile.ts"
import { type EnvironmentVariables, presentVariables } from "./Environment.ts"
import { type SettingsSource } from "./SettingsSource.ts"

const defaultFile = "./tollgate.yaml"

/** The path of the settings file. `env` has no empty variables. */
export const settingsFile = (env: EnvironmentVariables): string => env.TOLLGATE_CONFIG ?? defaultFile

/** A file named by `TOLLGATE_CONFIG` must exist. The default file is optional. */
export const readConfig = (source: SettingsSource): Effect.Effect<ReadConfig> => {
  const env = presentVariables(source.env)
  const named = env.TOLLGATE_CONFIG
  const file = settingsFile(env)
  const unreadable = (problem: string) =>
    failedConfig([
      {
        setting: named === undefined ? file : "TOLLGATE_CONFIG",
        problem,
        expected: "the path of a YAML file that can be read"
      }
    ])
  return source.readFile(file).pipe(
    Effect.map((text) => {
      if (text !== null) return decodeConfig(file, text, env)
      return named === undefined ? emptyConfig : unreadable(`names a file that does not exist: ${file}`)
    }),
    Effect.catch(({ code }) =>
      Effect.succeed(
        unreadable(
          named === undefined
            ? `is a file that cannot be read (${code})`
            : `names a file that cannot be read: ${named} (${code})`
        )
      )
    )
  )
}
