/**
 * The Codex CLI from npm: `codex exec` in a folder and with a home of its own, which end with the
 * scope. Its settings name the gateway and nothing else, and any other host is out of its reach.
 * scripts/test installs it.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryDirectory } from "../support/Gateway.ts"

const folder = fileURLToPath(new URL("../../.tollgate/codex", import.meta.url))
const installed = join(folder, "node_modules/@openai/codex/bin/codex.js")
const { TOLLGATE_TEST_CODEX: named = "" } = process.env

/** Its absence fails the tests here, and skips them elsewhere. */
export const isDemanded = process.platform === "linux" && process.arch === "x64"
export const isInstalled = named !== "" || existsSync(installed)

export interface Run {
  readonly code: number | null
  /** What the model answered. */
  readonly answer: string
  /** What Codex told of its work. */
  readonly log: string
}

export interface Codex {
  readonly exec: (prompt: string) => Effect.Effect<Run>
  /** Goes on with the conversation. */
  readonly resume: (prompt: string) => Effect.Effect<Run>
  readonly write: (file: string, text: string) => void
  readonly read: (file: string) => string
}

export interface CodexOptions {
  readonly gatewayUrl: string
  readonly key: string
  readonly model: string
  /** A script that speaks MCP on its standard streams, under the name `notes`. */
  readonly mcpServer?: string
}

const limitMs = 60_000

/** The settings that a user of the gateway has. */
const settings = ({ gatewayUrl, mcpServer, model }: CodexOptions): string => `
model = ${JSON.stringify(model)}
model_provider = "tollgate"
check_for_update_on_startup = false

[model_providers.tollgate]
name = "tollgate"
base_url = ${JSON.stringify(`${gatewayUrl}/v1`)}
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"

[analytics]
enabled = false
${
  mcpServer === undefined
    ? ""
    : `
[mcp_servers.notes]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(mcpServer)}]
`
}`

export const makeCodex = Effect.fnUntraced(function* (options: CodexOptions) {
  if (!isInstalled) return yield* Effect.die(new Error("Codex is missing. scripts/test installs it: run that."))
  const directory = yield* temporaryDirectory
  const work = join(directory, "work")
  const home = join(directory, "home")
  for (const each of [work, home]) mkdirSync(each)
  writeFileSync(join(home, "config.toml"), settings(options))
  const run = (args: ReadonlyArray<string>) =>
    Effect.callback<Run>((resume) => {
      const [command, before] = named === "" ? [process.execPath, [installed]] : [named, []]
      // The commands that it runs are those of our script.
      const flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
      const child = spawn(command, [...before, "exec", ...args.slice(0, -1), ...flags, ...args.slice(-1)], {
        cwd: work,
        env: {
          PATH: process.env["PATH"],
          HOME: directory,
          CODEX_HOME: home,
          TOLLGATE_API_KEY: options.key,
          // Nothing listens there.
          HTTPS_PROXY: "http://127.0.0.1:9",
          NO_PROXY: "127.0.0.1"
        },
        stdio: ["ignore", "pipe", "pipe"],
        timeout: limitMs,
        killSignal: "SIGKILL"
      })
      let answer = ""
      let log = ""
      child.stdout.on("data", (piece) => (answer += piece))
      child.stderr.on("data", (piece) => (log += piece))
      child.once("error", (error) => resume(Effect.die(error)))
      child.once("close", (code) => resume(Effect.succeed({ code, answer: answer.trim(), log })))
      return Effect.sync(() => void child.kill("SIGKILL"))
    })
  return {
    exec: (prompt) => run([prompt]),
    resume: (prompt) => run(["resume", "--last", prompt]),
    write: (file, text) => writeFileSync(join(work, file), text),
    read: (file) => readFileSync(join(work, file), "utf8")
  } satisfies Codex
})
