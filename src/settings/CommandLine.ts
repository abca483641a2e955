/**
 * The command line's environment variables, used where flags are absent. Values are not validated
 * here; the command that uses one reports its faults. The gateway ignores these variables, so that
 * both can share an environment.
 */
import { Effect, Redacted } from "effect"
import { defaultDataDir } from "./DataDir.ts"
import { presentVariables } from "./Environment.ts"

export interface CommandLineVariables {
  /** `TOLLGATE_URL`: the gateway's address. */
  readonly url: string | null
  /** `TOLLGATE_API_KEY` */
  readonly apiKey: Redacted.Redacted | null
  /** `TOLLGATE_ADMIN_KEY`, shared with the gateway. */
  readonly adminKey: Redacted.Redacted | null
  /** `TOLLGATE_DATA_DIR`, shared with the gateway. */
  readonly dataDir: string
}

const secret = (value: string | undefined) => (value === undefined ? null : Redacted.make(value))

/**
 * The current values. Unset and empty variables are `null`; `dataDir` has the gateway's default.
 */
export const commandLineVariables: Effect.Effect<CommandLineVariables> = Effect.sync(() => {
  const env = presentVariables(process.env)
  return {
    url: env["TOLLGATE_URL"] ?? null,
    apiKey: secret(env["TOLLGATE_API_KEY"]),
    adminKey: secret(env["TOLLGATE_ADMIN_KEY"]),
    dataDir: env["TOLLGATE_DATA_DIR"] ?? defaultDataDir
  }
})
