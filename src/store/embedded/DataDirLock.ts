/**
 * Ensures that one process at a time uses a data directory: two writers of the embedded database
 * would silently lose rows.
 *
 * The lock is the operating system's own lock on a file, taken by an exclusive transaction of
 * SQLite. It is atomic and ends with the process, however that dies. The file itself stays and
 * means nothing.
 */
import { Data, Effect, type Scope } from "effect"
import { type DatabaseSync } from "node:sqlite"
import { lastHolder, lock, openLockFile, openShared } from "./DataDirFile.ts"

const holderOf = (directory: string): string => {
  const pid = lastHolder(directory)
  return pid === "" ? "" : ` (${pid})`
}

/**
 * `in_use`: another process holds the directory. `unusable`: it cannot be created or written, and
 * `cause` says why.
 */
export class DataDirError extends Data.TaggedError("DataDirError")<{
  readonly directory: string
  readonly reason: "in_use" | "unusable"
  readonly cause: unknown
}> {
  /** Read when the lock failed: the message may be asked for later. */
  readonly #holder = this.reason === "in_use" ? holderOf(this.directory) : ""

  override get message(): string {
    return this.reason === "in_use"
      ? `the data directory ${this.directory} is in use by another process${this.#holder}. ` +
          "Stop that process, or set TOLLGATE_DATA_DIR to another directory"
      : `the data directory ${this.directory} cannot be used. Let this user write to it, or set ` +
          `TOLLGATE_DATA_DIR to another directory`
  }
}

const SQLITE_BUSY = 5

const isBusy = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "errcode" in cause && cause.errcode === SQLITE_BUSY

const attempt = <A>(directory: string, evaluate: () => A): Effect.Effect<A, DataDirError> =>
  Effect.try({
    try: evaluate,
    catch: (cause) => new DataDirError({ directory, reason: isBusy(cause) ? "in_use" : "unusable", cause })
  })

/**
 * Creates the directory when it is absent (mode 0700) and locks it until the scope closes. `held`
 * is its file, if this process already has the lock.
 */
export const lockDataDir = (directory: string, held?: DatabaseSync): Effect.Effect<void, DataDirError, Scope.Scope> =>
  Effect.acquireRelease(
    held === undefined ? attempt(directory, () => openLockFile(directory)) : Effect.succeed(held),
    (file) => Effect.sync(() => file.close())
  ).pipe(Effect.flatMap((file) => (held === undefined ? attempt(directory, () => lock(file, directory)) : Effect.void)))

/**
 * Runs `use` while no other process uses the directory, and changes no file of it. Meanwhile no
 * process can take the directory.
 */
export const holdUnused = <A>(directory: string, use: () => A): Effect.Effect<A, DataDirError> =>
  Effect.acquireUseRelease(
    attempt(directory, () => openShared(directory)),
    () => attempt(directory, use),
    (file) => Effect.sync(() => file?.close())
  )
