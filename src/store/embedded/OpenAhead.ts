/**
 * Opens an embedded database that exists while the rest of the program is still being loaded, which shortens a start. What is opened waits
 * for the layer of its directory. A failure is silent here: that layer then tries all of it again, and tells. Plain Node,
 * because it runs before Effect is loaded.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { type DatabaseSync } from "node:sqlite"
import { Worker } from "node:worker_threads"
import { lock, openLockFile } from "./DataDirFile.ts"
import { type WorkerInput } from "./Protocol.ts"

/** A directory that this process has locked, and the thread that opens its database. */
interface Ahead {
  readonly file: DatabaseSync
  readonly thread: Worker
}

const opened = new Map<string, Ahead>()

const databaseOf = (directory: string): string => join(directory, "db")

/** A thread that opens, or makes, the database of a locked directory; it says how that went when it is sent `Open`. */
export const startThread = (dataDir: string): Worker =>
  new Worker(new URL("./Worker.ts", import.meta.url), {
    workerData: { directory: databaseOf(dataDir) } satisfies WorkerInput
  })

const open = (dataDir: string): void => {
  const file = openLockFile(dataDir)
  lock(file)
  const thread = startThread(dataDir)
  opened.set(dataDir, { file, thread })
  const forget = () => {
    if (opened.delete(dataDir)) file.close()
  }
  thread.once("error", forget)
  thread.once("exit", forget)
}

/** Begins to open the database of `dataDir`, if there is one that nobody uses; done when the thread runs, not when the database is open. */
export const openAhead = (dataDir: string): Promise<void> =>
  existsSync(join(databaseOf(dataDir), "PG_VERSION"))
    ? Promise.resolve(dataDir)
        .then(open)
        .catch(() => undefined)
    : Promise.resolve()

/** What was opened ahead for `dataDir`, once: it is the caller's from then on. */
export const takeAhead = (dataDir: string): Ahead | null => {
  const ahead = opened.get(dataDir) ?? null
  opened.delete(dataDir)
  return ahead
}
