/**
 * The embedded database, in its own thread because each statement blocks the thread that runs it.
 * It serves sessions of the Postgres protocol over messages, in order of arrival. It does not use
 * Effect, because loading Effect takes longer than opening the database.
 */
import { PGlite } from "@electric-sql/pglite"
import { setFlagsFromString } from "node:v8"
import { parentPort, workerData } from "node:worker_threads"
import { prepareCluster } from "./Cluster.ts"
import { type FromWorker, type ToWorker, type WorkerInput } from "./Protocol.ts"
import { PgMessages } from "./PgMessages.ts"

/**
 * The engine is WebAssembly. V8's optimising compiler takes 500 MB for it at each start and makes
 * statements no faster, so only the baseline compiler is used. The flags hold for the whole process
 * and count when code is compiled, which happens below.
 */
for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]) setFlagsFromString(flag)

/**
 * Settings of the engine, in place of its own, which are for a server: 128 MB of buffers, allocated
 * at the start. The operating system's cache of files stands behind these.
 */
const engine = ["timezone=UTC", "shared_buffers=16MB", "wal_buffers=1MB", "temp_buffers=1MB", "max_connections=5"]

const post = (message: FromWorker): void => parentPort?.postMessage(message, [])

const serve = (db: PGlite): ((message: Exclude<ToWorker, { readonly _tag: "Open" }>) => void) => {
  const sessions = new Map<number, PgMessages>()

  const run = (session: number, bytes: Uint8Array): Promise<void> =>
    db.execProtocolRawStream(bytes, {
      onRawData: (data) => post({ _tag: "Data", session, bytes: Uint8Array.from(data) })
    })

  // All sessions share one backend, so what the previous session left (a transaction, statements)
  // is ended first.
  const reset = (): Promise<unknown> => db.exec("ROLLBACK").then(() => db.exec("DISCARD ALL"))

  const end = (session: number): Promise<void> => {
    if (sessions.delete(session)) post({ _tag: "Ended", session })
    return Promise.resolve()
  }

  const write = (session: number, chunk: Uint8Array): Promise<void> => {
    const reader = sessions.get(session) ?? new PgMessages()
    sessions.set(session, reader)
    const messages = reader.push(chunk)
    switch (messages._tag) {
      case "None":
        return Promise.resolve()
      case "Ssl":
        post({ _tag: "Data", session, bytes: Uint8Array.of(0x4e) })
        return Promise.resolve()
      case "Cancel":
      case "Terminate":
        return end(session)
      case "Startup":
        return reset().then(() => run(session, messages.bytes))
      case "Messages":
        return run(session, messages.bytes)
    }
  }

  let work: Promise<void> = Promise.resolve()
  return (message) => {
    switch (message._tag) {
      case "Write":
        work = work
          .then(() => write(message.session, message.bytes))
          .then(() => post({ _tag: "Written", session: message.session }))
        return
      case "End":
        work = work.then(() => end(message.session))
        return
      case "Shutdown":
        work = work.then(() => db.close()).then(() => parentPort?.close())
    }
  }
}

const input: WorkerInput = workerData
const opening = prepareCluster(input.directory)
  .then(() => PGlite.create({ dataDir: input.directory, postgresqlconf: engine }))
  .then(serve)
// A failure is reported in reply to `Open`. This handler prevents an unhandled rejection until
// then.
opening.catch(() => undefined)
parentPort?.on("message", (message: ToWorker) => {
  void opening.then(
    (handle) => (message._tag === "Open" ? post({ _tag: "Ready" }) : handle(message)),
    (cause: unknown) => {
      post({ _tag: "Failed", message: String(cause) })
      parentPort?.close()
    }
  )
})
