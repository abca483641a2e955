/**
 * Several processes on one port (`TOLLGATE_WORKERS`). The primary process only supervises the
 * workers. It restarts a worker that exits: at once, or after a growing delay if the worker exited
 * soon after its start. A stop signal drains all workers, and SIGHUP is forwarded to all.
 */
import { Duration, Effect, Layer } from "effect"
import cluster, { type Worker } from "node:cluster"

export interface WorkersOptions {
  readonly workers: number
  /** Time limit of a drain, in ms. Workers that exceed it are killed. */
  readonly drainTimeoutMs: number
  /** How long a worker accepts requests after the stop signal, in ms. */
  readonly shutdownGraceMs: number
}

/** True if this process supervises workers instead of serving. */
export const isSupervisor = ({ workers }: { readonly workers: number }): boolean => workers > 1 && cluster.isPrimary

/** A worker that exits sooner has failed to start. */
const YOUNG_MS = 5_000
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 10_000
/** Additional time for a worker to close its database. */
const CLOSING_MS = 5_000

const exited = (worker: Worker): Effect.Effect<{ readonly code: number | null; readonly signal: string | null }> =>
  Effect.callback((resume) => {
    if (worker.isDead()) return resume(Effect.succeed({ code: worker.process.exitCode, signal: null }))
    const onExit = (code: number | null, signal: string | null) => resume(Effect.succeed({ code, signal }))
    worker.once("exit", onExit)
    return Effect.sync(() => worker.off("exit", onExit))
  })

const stop = (worker: Worker, { drainTimeoutMs, shutdownGraceMs }: WorkersOptions): Effect.Effect<void> =>
  Effect.suspend(() => {
    worker.process.kill("SIGTERM")
    return Effect.asVoid(exited(worker))
  }).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(shutdownGraceMs + drainTimeoutMs + CLOSING_MS),
      orElse: () => Effect.sync(() => void worker.process.kill("SIGKILL"))
    })
  )

/** Keeps one worker running until the scope closes. */
const keep = Effect.fnUntraced(function* (options: WorkersOptions) {
  let pauseMs = FIRST_PAUSE_MS
  while (true) {
    const [lifetime, end] = yield* Effect.timed(
      Effect.acquireUseRelease(
        Effect.sync(() => cluster.fork()),
        exited,
        (worker) => (worker.isDead() ? Effect.void : stop(worker, options))
      )
    )
    const young = Duration.toMillis(lifetime) < YOUNG_MS
    yield* Effect.annotateLogs(Effect.logError("a worker exited; starting another"), { ...end })
    pauseMs = young ? Math.min(pauseMs * 2, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS
    if (young) yield* Effect.sleep(Duration.millis(pauseMs))
  }
})

/** Windows has no SIGHUP that a process can handle: there `kill` ends the process. */
const canHangUp = process.platform !== "win32"

/** In a worker: has all workers read the settings file again. */
export const hangUpOthers = Effect.sync(
  () => void (canHangUp && cluster.isWorker && process.kill(process.ppid, "SIGHUP"))
)

const forwardHangup = Effect.acquireRelease(
  Effect.sync(() => {
    const forward = () => {
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGHUP")
    }
    if (canHangUp) process.on("SIGHUP", forward)
    return forward
  }),
  (forward) => Effect.sync(() => process.off("SIGHUP", forward))
)

export const layer = (options: WorkersOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      yield* forwardHangup
      yield* Effect.logInfo(`supervising ${options.workers} workers`)
      for (let count = 0; count < options.workers; count++) yield* Effect.forkScoped(keep(options))
    })
  )
