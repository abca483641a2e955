/**
 * What the command line takes from the environment where its flags say nothing. Nothing is checked here: the command that uses a value
 * says what is wrong with it. A gateway knows these variables and makes nothing of them, so that both can share an environment.
 */
import { Effect, Redacted } from "effect"
import { defaultDataDir } from "./DataDir.ts"
import { presentVariables } from "./Environment.ts"

export interface CommandLineVariables {
  /** `TOLLGATE_URL`: where the gateway is. */
  readonly url: string | null
  /** `TOLLGATE_API_KEY` */
  readonly apiKey: Redacted.Redacted | null
  /** `TOLLGATE_ADMIN_KEY`, the gateway's own variable. */
  readonly adminKey: Redacted.Redacted | null
  /** `TOLLGATE_DATA_DIR`, the gateway's own variable. */
  readonly dataDir: string
}

const secret = (value: string | undefined) => (value === undefined ? null : Redacted.make(value))

/** As they are now. Unset and empty variables are `null`; `dataDir` is then the gateway's default. */
export const commandLineVariables: Effect.Effect<CommandLineVariables> = Effect.sync(() => {
  const env = presentVariables(process.env)
  return {
    url: env["TOLLGATE_URL"] ?? null,
    apiKey: secret(env["TOLLGATE_API_KEY"]),
    adminKey: secret(env["TOLLGATE_ADMIN_KEY"]),
    dataDir: env["TOLLGATE_DATA_DIR"] ?? defaultDataDir
  }
})
