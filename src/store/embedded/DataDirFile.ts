/** The file whose lock a process holds for as long as it uses a data directory. Plain Node: it is taken before Effect is loaded. */
import { chmodSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

/** Makes the directory when it is absent (mode 0700), and opens its file. Throws what the file system or SQLite throw. */
export const openLockFile = (directory: string): DatabaseSync => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, "tollgate.lock")
  const file = new DatabaseSync(path, { timeout: 0 })
  chmodSync(path, 0o600)
  return file
}

/** Throws SQLite's error 5 (busy) when another process holds it. */
export const lock = (file: DatabaseSync): void => file.exec("BEGIN EXCLUSIVE")
