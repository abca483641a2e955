/**
 * The main thread's side of the embedded database: a locked data directory, the thread that runs
 * the engine, and connections to it for the Postgres client. Closing the scope lets running
 * statements finish, closes the database and unlocks the directory. An engine that crashes breaks
 * its connections, and the next connection starts a new engine.
 */
import { Effect, type Scope } from "effect"
import { type Duplex } from "node:stream"
import { type Worker } from "node:worker_threads"
import { DataDirError, lockDataDir } from "./DataDirLock.ts"
import { startThread, takeAhead } from "./OpenAhead.ts"
import { type FromWorker, type ToWorker } from "./Protocol.ts"
import { PgliteDuplex } from "./PgliteDuplex.ts"

/** Longest wait for running statements when closing. */
const CLOSE_TIMEOUT_MS = 10_000

/**
 * The running thread and its connections, by number. It is a plain class because sql-pg requests
 * streams synchronously.
 */
class Engine {
  readonly #dataDir: string
  readonly #sessions = new Map<number, PgliteDuplex>()
  #worker: Worker | null = null
  #lastSession = 0
  #onOpen: (failure: string | null) => void = () => undefined

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /**
   * Calls back with `null` when the database is open, else with the reason. Only the first call
   * counts. `ahead` is a thread that is already opening the database.
   */
  open(ahead: Worker | undefined, onOpen: (failure: string | null) => void): void {
    this.#onOpen = onOpen
    this.#start(ahead)
  }

  connect(): Duplex {
    const worker = this.#worker ?? this.#start()
    const session = ++this.#lastSession
    const duplex = new PgliteDuplex(
      (bytes) => worker.postMessage({ _tag: "Write", session, bytes } satisfies ToWorker, []),
      () => {
        this.#sessions.delete(session)
        worker.postMessage({ _tag: "End", session } satisfies ToWorker, [])
      }
    )
    this.#sessions.set(session, duplex)
    return duplex
  }

  close(onClosed: () => void): void {
    const worker = this.#worker
    if (worker === null) return onClosed()
    // @effect-diagnostics-next-line globalTimers:off -- a last resort outside any fiber
    const timer = setTimeout(() => void worker.terminate(), CLOSE_TIMEOUT_MS)
    worker.once("exit", () => {
      clearTimeout(timer)
      onClosed()
    })
    worker.postMessage({ _tag: "Shutdown" } satisfies ToWorker, [])
  }

  #start(worker = startThread(this.#dataDir)): Worker {
    this.#worker = worker
    worker.on("message", (message: FromWorker) => this.#receive(message))
    worker.on("error", (cause) => this.#stopped(worker, String(cause)))
    worker.on("exit", () => this.#stopped(worker, "the embedded database stopped"))
    worker.postMessage({ _tag: "Open" } satisfies ToWorker, [])
    return worker
  }

  #receive(message: FromWorker): void {
    switch (message._tag) {
      case "Ready":
        return this.#onOpen(null)
      case "Failed":
        return this.#onOpen(message.message)
      case "Data":
        this.#sessions.get(message.session)?.push(message.bytes)
        return
      case "Written":
        return this.#sessions.get(message.session)?.written()
      case "Ended":
        this.#sessions.get(message.session)?.push(null)
    }
  }

  /**
   * A crash is reported twice, as an error and as an exit. By the second report a new thread may be
   * running.
   */
  #stopped(worker: Worker, why: string): void {
    if (this.#worker !== worker) return
    this.#worker = null
    this.#onOpen(why)
    for (const duplex of this.#sessions.values()) duplex.destroy(new Error(why))
  }
}

/**
 * Opens the database of a data directory. Each call of the returned function makes one connection.
 */
export const embeddedStreams = (dataDir: string): Effect.Effect<() => Duplex, DataDirError, Scope.Scope> =>
  Effect.gen(function* () {
    const ahead = takeAhead(dataDir)
    yield* lockDataDir(dataDir, ahead?.file)
    const engine = yield* Effect.acquireRelease(
      Effect.sync(() => new Engine(dataDir)),
      (engine) => Effect.callback<void>((resume) => engine.close(() => resume(Effect.void)))
    )
    yield* Effect.callback<void, DataDirError>((resume) =>
      engine.open(ahead?.thread, (failure) =>
        resume(
          failure === null
            ? Effect.void
            : Effect.fail(new DataDirError({ directory: dataDir, reason: "unusable", cause: failure }))
        )
      )
    )
    return () => engine.connect()
  })
