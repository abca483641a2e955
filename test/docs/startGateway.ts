/**
 * A gateway of its own process, started with scripts/start in an empty directory on a port of the
 * system's choice, with nothing of this process's environment but the path. The scope stops it and
 * removes the directory.
 */
import { Data, Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "./blocks.ts"

export interface StartedGateway {
  readonly url: string
  /** Its working directory: `.tollgate` is in it. */
  readonly directory: string
}

/** A program that ended before it said what was waited for. */
class EndedEarly extends Data.TaggedError("EndedEarly")<{ readonly message: string }> {}

/**
 * What a program printed up to the first line that matches, and the match. Fails when it ends
 * before.
 */
export const awaitLine = (child: ChildProcess, pattern: RegExp): Effect.Effect<RegExpExecArray, EndedEarly> =>
  Effect.callback((resume) => {
    let text = ""
    child.stderr?.on("data", (chunk: Buffer) => (text += chunk.toString()))
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const found = pattern.exec(text)
      if (found !== null) resume(Effect.succeed(found))
    })
    child.once("exit", (code) => resume(Effect.fail(new EndedEarly({ message: `ended with ${code}: ${text}` }))))
  })

/** A child process that the scope ends. */
export const startProcess = (
  command: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> }
): Effect.Effect<ChildProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(command, args, {
        cwd: options.cwd,
        env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...options.env },
        stdio: ["ignore", "pipe", "pipe"]
      })
    ),
    (child) =>
      Effect.callback<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGTERM")
      })
  )

export const temporaryDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "tollgate-docs-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/**
 * `config`: the text of its `tollgate.yaml`, if it has one. `env`: settings in addition to a free
 * port.
 */
export const startGateway = Effect.fnUntraced(function* (config?: string, env: Readonly<Record<string, string>> = {}) {
  const directory = yield* temporaryDirectory
  if (config !== undefined) writeFileSync(join(directory, "tollgate.yaml"), config)
  const child = yield* startProcess(`${root}/scripts/start`, [], {
    cwd: directory,
    env: { TOLLGATE_SHUTDOWN_GRACE_MS: "0", ...env, TOLLGATE_PORT: "0", TOLLGATE_LOG_FORMAT: "json" }
  })
  const ready = yield* awaitLine(child, /"url":"(http:[^"]+)"/)
  return { url: ready[1] ?? "", directory } satisfies StartedGateway
})
