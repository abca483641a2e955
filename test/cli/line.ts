/** Runs a command line in this process with input and output in memory, or in its own process. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Console, Effect, Layer, type Scope, Sink, Stdio, Stream, Terminal } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { exitCodeOf } from "../../src/cli/Failure.ts"
import { run } from "../../src/cli/Run.ts"

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Around {
  readonly stdin?: string
  /** True if stdin and stdout are terminals. */
  readonly isTerminal?: boolean
  /** The columns of the terminal. Default: 0, which is unknown. */
  readonly columns?: number
  /** The variables about colours. Default: none. */
  readonly env?: Readonly<Record<string, string>>
}

const decoder = new TextDecoder()
const textOf = (chunk: string | Uint8Array): string => (typeof chunk === "string" ? chunk : decoder.decode(chunk))

/** Standard input and output in memory. */
export const memoryStdio = ({ isTerminal = false, stdin }: Around = {}) => {
  const written = { stdout: "", stderr: "" }
  const into = (name: keyof typeof written) => () =>
    Sink.forEach((chunk: string | Uint8Array) => Effect.sync(() => void (written[name] += textOf(chunk))))
  const layer = Stdio.layerTest({
    stdin: stdin === undefined ? Stream.empty : Stream.make(new TextEncoder().encode(stdin)),
    stdinIsTerminal: Effect.succeed(isTerminal && stdin === undefined),
    stdoutIsTerminal: Effect.succeed(isTerminal),
    stderrIsTerminal: Effect.succeed(isTerminal),
    stdout: into("stdout"),
    stderr: into("stderr")
  })
  return { written, layer }
}

/** Runs a command line in this process to its end. */
export const line = (args: ReadonlyArray<string>, around?: Around): Effect.Effect<Ended> =>
  Effect.suspend(() => {
    const { layer, written } = memoryStdio(around)
    // effect/cli writes completions to the console by itself.
    const log = (text: string) => void (written.stdout += `${text}\n`)
    return run(args).pipe(
      Effect.provideService(Console.Console, Object.assign(Object.create(console) as Console.Console, { log })),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: around?.env ?? {} })),
      Effect.updateService(Terminal.Terminal, (terminal) => ({
        ...terminal,
        columns: Effect.succeed(around?.columns ?? 0)
      })),
      Effect.provide(Layer.merge(NodeServices.layer, layer)),
      Effect.exit,
      Effect.map((exit) => ({ code: exitCodeOf(exit), ...written }))
    )
  })

const launcher = fileURLToPath(new URL("../../scripts/tollgate", import.meta.url))

export interface Started {
  readonly ended: Effect.Effect<Ended>
  /** Resolves once stdout matches, with the first group. The test's time limit bounds the wait. */
  readonly matched: (pattern: RegExp) => Effect.Effect<string>
  readonly child: ChildProcess
}

/**
 * Starts scripts/tollgate with only PATH and HOME of this process's environment. The scope ends it.
 */
export const startLine = (
  args: ReadonlyArray<string>,
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> }
): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { HOME = options.cwd, PATH = "" } = process.env
      const child = spawn(launcher, args, {
        cwd: options.cwd,
        env: { PATH, HOME, ...options.env },
        stdio: ["ignore", "pipe", "pipe"]
      })
      const written = { stdout: "", stderr: "" }
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8")
        child[name].on("data", (text: string) => void (written[name] += text))
      }
      const closed = once(child, "close").then(([code]) => ({ code: code as number | null, ...written }))
      return {
        child,
        ended: Effect.promise(() => closed),
        matched: (pattern: RegExp) =>
          Effect.promise(async () => {
            for (;;) {
              const found = pattern.exec(written.stdout)
              if (found !== null) return found[1] ?? ""
              await once(child.stdout, "data")
            }
          })
      }
    }),
    ({ child, ended }) =>
      Effect.andThen(
        Effect.sync(() => void child.kill("SIGKILL")),
        ended
      )
  )

/** Prints the address of each module that a process loads. */
const printsModules = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module"
  import { writeSync } from "node:fs"
  registerHooks({ load: (url, context, next) => (writeSync(1, url + "\\n"), next(url, context)) })
`)}`

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url))

/** Runs the command line in its own process, which prints the modules that it loads, too. */
export const loadedBy = (args: ReadonlyArray<string>): Effect.Effect<{ readonly stdout: string }> =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, ["--import", printsModules, main, ...args], {
      stdio: ["ignore", "pipe", "ignore"]
    })
    let stdout = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (stdout += text))
    await once(child, "close")
    return { stdout }
  })
