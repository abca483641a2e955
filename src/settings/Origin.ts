/** What the operator set, and where. */
import { type ReadConfig } from "./ConfigFile.ts"
import { Environment, type EnvironmentVariables } from "./Environment.ts"

export interface SettingsOrigin {
  /** The path of the settings file; null: there is none. */
  readonly file: string | null
  /** The members of the file, such as `routing.retries`. */
  readonly members: ReadonlyArray<string>
  /** The gateway's variables that are set. */
  readonly variables: ReadonlyArray<string>
}

/** Absent if nothing is set. `env` has no empty variables. */
export const originOf = (
  { file, members = [] }: Pick<ReadConfig, "file" | "members">,
  env: EnvironmentVariables
): { readonly origin?: SettingsOrigin } => {
  const variables = Object.keys(Environment.fields).filter((name) => env[name] !== undefined)
  return file === undefined && variables.length === 0 ? {} : { origin: { file: file ?? null, members, variables } }
}
