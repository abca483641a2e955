/**
 * The lock file that a process holds while it uses a data directory. It is plain Node, because the
 * lock is taken before Effect is loaded.
 */
import { chmodSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

/**
 * Creates the directory when it is absent (mode 0700) and opens the lock file in it. Throws errors
 * of the file system and of SQLite.
 */
export const openLockFile = (directory: string): DatabaseSync => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, "tollgate.lock")
  const file = new DatabaseSync(path, { timeout: 0 })
  chmodSync(path, 0o600)
  return file
}

/** Throws SQLite's error 5 (busy) when another process holds the lock. */
export const lock = (file: DatabaseSync): void => file.exec("BEGIN EXCLUSIVE")
