/**
 * The gateway as its operator runs it: `src/main.ts` in its own process, on a port that the system
 * chooses, with the environment and the settings file of the test. It ends with the scope in any
 * case. Its output is kept, and a secret or a prompt in it fails the test when the scope closes.
 *
 * ```ts
 * const gateway = yield* startGateway({ env: { DATABASE_URL }, config: { providers: [...] } })
 * const { key } = yield* gateway.issueKey()
 * const answered = yield* gateway.send("/v1/chat/completions", { key, body })
 * yield* gateway.stop
 * ```
 */
import { Data, Effect, Schedule } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Answered, openStream, send, type Sent, type Streaming } from "./GatewayHttp.ts"

export interface GatewayOptions {
  /**
   * Of this process's environment only PATH, HOME and the compile cache are passed on.
   * `TOLLGATE_PORT` is 0 by default.
   */
  readonly env?: Readonly<Record<string, string>>
  /** The settings file, as data. */
  readonly config?: unknown
  /**
   * The working directory, with `tollgate.yaml` and `.tollgate`. Default: a new one, removed with
   * the scope.
   */
  readonly directory?: string
  /**
   * Further texts that must not appear in the output, in addition to those that this module knows.
   */
  readonly secrets?: ReadonlyArray<string>
}

/** The connection was refused or broke. */
export class Disconnected extends Data.TaggedError("Disconnected")<{ readonly cause: unknown }> {}

/** The process ended too early. */
export class EndedEarly extends Data.TaggedError("EndedEarly")<{ readonly message: string }> {}

/** How a process ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface GatewayProcess {
  readonly pid: number
  readonly directory: string
  /** The output so far, to stdout and stderr. */
  readonly output: () => string
  readonly stderr: () => string
  /** Resolves with the output once it includes `text`. Fails when the process ends before. */
  readonly printed: (text: string) => Effect.Effect<string, EndedEarly>
  readonly ended: Effect.Effect<Ended>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Sends SIGTERM and waits for the end. */
  readonly stop: Effect.Effect<Ended>
  /** Sends SIGKILL and waits for the end. */
  readonly kill: Effect.Effect<Ended>
}

export interface Gateway extends GatewayProcess {
  readonly url: string
  readonly adminKey: string
  /**
   * Sends a request to a path and reads the whole response. Fails when the connection is refused or
   * breaks.
   */
  readonly send: (path: string, sent?: Sent) => Effect.Effect<Answered, Disconnected>
  readonly stream: (path: string, sent?: Sent) => Effect.Effect<Streaming, Disconnected>
  /** `POST /v1/keys`: an enterprise key by default. Dies when that is refused. */
  readonly issueKey: (body?: Readonly<Record<string, unknown>>) => Effect.Effect<IssuedKey>
}

/** A process that was just started. */
export interface Launched extends GatewayProcess {
  /** Waits until it serves. Dies, with its output, when it ends before. */
  readonly ready: Effect.Effect<Gateway>
}

export interface IssuedKey {
  readonly id: string
  readonly key: string
}

/** The default admin key of these gateways. */
export const adminKey = "tga-admin-key-of-the-process-tests"

/** Part of every prompt, so that prompts are found in the output. */
export const promptMarker = "words-that-are-nobodys-business"

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const startLimitMs = 90_000

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, Disconnected> =>
  Effect.tryPromise({ try: run, catch: (cause) => new Disconnected({ cause }) })

/** Retries every 25 ms until it succeeds. Dies with the last error after `limitMs`. */
export const eventually = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limitMs: number,
  what: string
): Effect.Effect<A, never, R> => {
  let last: unknown = "it did not answer"
  return effect.pipe(
    Effect.tapError((error) => Effect.sync(() => void (last = error))),
    Effect.retry(Schedule.spaced("25 millis")),
    Effect.timeoutOrElse({
      duration: limitMs,
      orElse: () => Effect.die(new Error(`${what}: not within ${limitMs} ms`, { cause: last }))
    }),
    Effect.orDie
  )
}

export const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "tollgate-process-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** Starts the process without waiting. */
export const launchGateway = Effect.fnUntraced(function* (options: GatewayOptions = {}) {
  const directory = options.directory ?? (yield* temporaryDirectory)
  if (options.config !== undefined) {
    writeFileSync(join(directory, "tollgate.yaml"), JSON.stringify(options.config, null, 2))
  }
  const { HOME = directory, NODE_COMPILE_CACHE = "", PATH = "" } = process.env
  const ours = { TOLLGATE_PORT: "0", TOLLGATE_ADMIN_KEY: adminKey, TOLLGATE_LOG_LEVEL: "trace" }
  const env = { PATH, HOME, NODE_COMPILE_CACHE, TOLLGATE_SHUTDOWN_GRACE_MS: "0", ...ours, ...options.env }
  const secrets = new Set([promptMarker, "Bearer ", ...(options.secrets ?? []), ...secretsOf(env)])
  const started = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [main], { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"] })
      return watch(child, directory)
    }),
    (started) =>
      Effect.andThen(
        started.kill,
        Effect.suspend(() => {
          // The example calls for a person read the key from its file.
          const output = started.output().replaceAll("Bearer $TOLLGATE_API_KEY", "")
          const leaked = [...secrets].filter((secret) => output.includes(secret))
          return leaked.length === 0
            ? Effect.void
            : Effect.die(new Error(`the output holds what it must not, ${leaked.join(", ")}:\n${output}`))
        })
      )
  )
  return {
    ...started,
    ready: whenReady(started, env.TOLLGATE_ADMIN_KEY, (secret) => void secrets.add(secret))
  } satisfies Launched
})

/** Starts the process and waits until it serves. Dies, with its output, when it ends before. */
export const startGateway = (options: GatewayOptions = {}) =>
  Effect.flatMap(launchGateway(options), ({ ready }) => ready)

const whenReady = Effect.fnUntraced(function* (
  started: GatewayProcess,
  adminKey: string,
  remember: (secret: string) => void
) {
  const output = yield* started.printed(`"message":"ready"`).pipe(
    Effect.timeoutOrElse({
      duration: startLimitMs,
      orElse: () => Effect.die(new Error(`not ready within ${startLimitMs} ms:\n${started.output()}`))
    }),
    Effect.orDie
  )
  const url = readyUrl(output)
  const sendTo = (path: string, sent?: Sent) => attempt(() => send(`${url}${path}`, sent))
  yield* eventually(
    Effect.filterOrFail(sendTo("/health/live", { limitMs: 2_000 }), ({ status }) => status === 200),
    startLimitMs,
    "a gateway that says it is ready"
  )
  return {
    ...started,
    url,
    adminKey,
    send: sendTo,
    stream: (path, sent) => attempt(() => openStream(`${url}${path}`, sent)),
    issueKey: (body) =>
      sendTo("/v1/keys", {
        headers: { "x-admin-key": adminKey },
        body: { name: "a key of the tests", tier: "enterprise", ...body }
      }).pipe(
        Effect.flatMap(({ status, text }) => {
          if (status !== 200) return Effect.die(new Error(`POST /v1/keys answered ${status}: ${text}`))
          const issued = JSON.parse(text) as IssuedKey
          remember(issued.key)
          return Effect.succeed(issued)
        }),
        Effect.orDie
      )
  } satisfies Gateway as Gateway
})

const watch = (child: ChildProcess, directory: string): GatewayProcess => {
  const written = { stdout: "", stderr: "" }
  const watchers = new Set<() => void>()
  const notify = (): void => {
    for (const watcher of watchers) watcher()
  }
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8")
    child[name]?.on("data", (chunk: string) => {
      written[name] += chunk
      notify()
    })
  }
  const killAtExit = (): void => void child.kill("SIGKILL")
  process.once("exit", killAtExit)
  // `close` comes after the last byte of output; `exit` may come earlier.
  const closed = new Promise<Ended>((resolve) => child.once("close", (code, signal) => resolve({ code, signal })))
  let isOver = false
  void closed.then(() => {
    isOver = true
    process.removeListener("exit", killAtExit)
    notify()
  })
  const ended = Effect.promise(() => closed)
  const output = (): string => written.stdout + written.stderr
  const signal = (name: NodeJS.Signals) => Effect.sync(() => void child.kill(name))
  return {
    pid: child.pid ?? 0,
    directory,
    output,
    stderr: () => written.stderr,
    ended,
    signal,
    stop: Effect.andThen(signal("SIGTERM"), ended),
    kill: Effect.andThen(signal("SIGKILL"), ended),
    printed: (text) =>
      Effect.callback<string, EndedEarly>((resume) => {
        const watcher = (): void => {
          if (output().includes(text)) resume(Effect.succeed(output()))
          else if (isOver)
            resume(Effect.fail(new EndedEarly({ message: `it ended without printing ${text}:\n${output()}` })))
          else return
          watchers.delete(watcher)
        }
        watchers.add(watcher)
        watcher()
        return Effect.sync(() => watchers.delete(watcher))
      })
  }
}

/** The address in the log line that reports readiness. */
const readyUrl = (output: string): string => {
  const line = output.split("\n").find((line) => line.includes(`"message":"ready"`)) ?? ""
  const { annotations } = JSON.parse(line) as { readonly annotations: { readonly url: string } }
  return annotations.url
}

/** Keys in the environment, and passwords in addresses. */
const secretsOf = (env: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  Object.entries(env).flatMap(([name, value]) => {
    if (value === "") return []
    if (/_KEY$|SECRET|TOKEN/.test(name)) return [value]
    const password = name.endsWith("_URL") && URL.canParse(value) ? new URL(value).password : ""
    return password === "" ? [] : [decodeURIComponent(password)]
  })
