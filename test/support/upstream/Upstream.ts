/**
 * A scripted language-model provider: a real HTTP server in its own process, so that a test sees
 * what a network delivers. It follows the `Behaviour` of each model name and records the requests.
 *
 * ```ts
 * const upstream = await startUpstream()
 * await upstream.script("small-2026", { json: chatBody({ content: "Hello" }) })
 * const half = [sse(chunkBody({ content: "Hel" }))]
 * await upstream.script("cut-2026", { chunks: half, ending: "reset" })
 * // point a provider's base URL at upstream.url, call the gateway, then:
 * const [request] = await upstream.requests()
 * await upstream.until((requests) => requests.some((request) => request.closedEarly))
 * await upstream.stop()
 * ```
 */
import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { type Behaviour, type Command, type Received, type Report } from "./Behaviour.ts"

export interface Upstream {
  /**
   * `http://127.0.0.1:<port>/v1`: a provider's base URL. Path and query do not affect the script.
   */
  readonly url: string
  /** The same without `/v1`. */
  readonly origin: string
  /**
   * The behaviour for requests for `model`, the upstream's name for it. A list answers one request
   * after the other, and its last behaviour answers all later ones. Scripting a model again starts
   * over. A model without a script gets a 404 in OpenAI's format.
   */
  readonly script: (model: string, behaviour: Behaviour | ReadonlyArray<Behaviour>) => Promise<void>
  /** Releases every reply that waits at this gate, now and later. */
  readonly open: (gate: string) => Promise<void>
  /** All the requests received so far, oldest first. */
  readonly requests: () => Promise<ReadonlyArray<Received>>
  /**
   * Resolves with the requests once they satisfy `predicate`. The test's time limit bounds the
   * wait.
   */
  readonly until: (predicate: (requests: ReadonlyArray<Received>) => boolean) => Promise<ReadonlyArray<Received>>
  /** Forgets scripts, gates and requests. */
  readonly reset: () => Promise<void>
  /** Ends the process. */
  readonly stop: () => Promise<void>
}

type Unsent<C> = C extends Command ? Omit<C, "id"> : never

/** Starts an upstream on a free loopback port. Rejects if its process ends before it listens. */
export const startUpstream = async (): Promise<Upstream> => {
  const child = fork(fileURLToPath(new URL("./server.ts", import.meta.url)), {
    serialization: "advanced",
    execArgv: ["--disable-warning=ExperimentalWarning"]
  })
  const port = await listening(child)
  const answers = new Map<number, (requests: ReadonlyArray<Received>) => void>()
  const watchers = new Set<(requests: ReadonlyArray<Received>) => void>()
  let count = 0

  child.on("message", (report: Report) => {
    if (report.type === "done") {
      answers.get(report.id)?.(report.requests)
      answers.delete(report.id)
    } else if (report.type === "changed") for (const watcher of watchers) watcher(report.requests)
  })

  const send = (command: Unsent<Command>): Promise<ReadonlyArray<Received>> =>
    new Promise((resolve, reject) => {
      const id = count++
      answers.set(id, resolve)
      child.send({ ...command, id }, (error) => (error === null ? undefined : reject(error)))
    })

  return {
    url: `http://127.0.0.1:${port}/v1`,
    origin: `http://127.0.0.1:${port}`,
    script: async (model, behaviour) => void (await send({ type: "script", model, behaviours: [behaviour].flat() })),
    open: async (gate) => void (await send({ type: "open", gate })),
    requests: () => send({ type: "requests" }),
    until: (predicate) =>
      new Promise((resolve, reject) => {
        const watcher = (requests: ReadonlyArray<Received>): void => {
          if (!predicate(requests)) return
          watchers.delete(watcher)
          resolve(requests)
        }
        watchers.add(watcher)
        send({ type: "requests" }).then(watcher, reject)
      }),
    reset: async () => void (await send({ type: "reset" })),
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve()
        child.once("exit", () => resolve())
        child.kill("SIGTERM")
      })
  }
}

const listening = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the scripted upstream ended with ${code} before it listened`)))
    child.once("error", reject)
    child.once("message", (report: Report) => {
      if (report.type === "listening") resolve(report.port)
      else reject(new Error(`the scripted upstream said ${report.type} before it listened`))
    })
  })
