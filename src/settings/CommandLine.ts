/**
 * The command line's environment variables, used where flags are absent. Values are not validated
 * here; the command that uses one reports its faults. The gateway ignores these variables, so that
 * both can share an environment.
 */
import { Effect, Redacted } from "effect"
import { homedir } from "node:os"
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

/** Sets `TOLLGATE_PORT` for a gateway that this process is about to start. */
export const listenOn = (port: number): Effect.Effect<void> =>
  Effect.sync(() => {
    process.env["TOLLGATE_PORT"] = String(port)
  })

/** Where the clients of a gateway keep their settings, by their own variables. */
export interface ClientDirectories {
  readonly claude: string
  readonly codex: string
  readonly cline: string
  readonly continue: string
  /** Of programs that follow the XDG rules. */
  readonly config: string
}

export const clientDirectories: Effect.Effect<ClientDirectories> = Effect.sync(() => {
  const env = presentVariables(process.env)
  const home = homedir()
  return {
    claude: env["CLAUDE_CONFIG_DIR"] ?? `${home}/.claude`,
    codex: env["CODEX_HOME"] ?? `${home}/.codex`,
    cline: env["CLINE_DIR"] ?? `${home}/.cline`,
    continue: env["CONTINUE_GLOBAL_DIR"] ?? `${home}/.continue`,
    config: env["XDG_CONFIG_HOME"] ?? `${home}/.config`
  }
})
