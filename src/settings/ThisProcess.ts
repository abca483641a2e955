/** Facts of this process's environment that are asked for while it runs. */
import { Effect, Redacted } from "effect"
import { presentVariables } from "./Environment.ts"
import { settingsFile } from "./ReadConfig.ts"

/** A variable; null: it is unset or empty. */
export const variable = (name: string): Effect.Effect<Redacted.Redacted | null> =>
  Effect.sync(() => {
    const value = presentVariables(process.env)[name]
    return value === undefined ? null : Redacted.make(value)
  })

/** The path of the settings file, which there may not be yet. */
export const ownSettingsFile: Effect.Effect<string> = Effect.sync(() => settingsFile(presentVariables(process.env)))
