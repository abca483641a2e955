/**
 * The lock file that a process holds while it uses a data directory. It is plain Node, because the
 * lock is taken before Effect is loaded.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
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

/**
 * Opens the lock file, if there is one, and takes a lock that only a process that uses the
 * directory prevents. Writes nothing. Throws SQLite's error 5 (busy) when another process holds the
 * directory.
 */
export const openShared = (directory: string): DatabaseSync | null => {
  const path = join(directory, "tollgate.lock")
  if (!existsSync(path)) return null
  const file = new DatabaseSync(path, { readOnly: true, timeout: 0 })
  file.exec("BEGIN; SELECT count(*) FROM sqlite_schema")
  return file
}

/** Names the process that has the lock, for the message of another one. It is no lock itself. */
const pidFile = (directory: string): string => join(directory, "tollgate.pid")

/** Throws SQLite's error 5 (busy) when another process holds the lock. */
export const lock = (file: DatabaseSync, directory: string): void => {
  file.exec("BEGIN EXCLUSIVE")
  writeFileSync(pidFile(directory), `${process.pid}\n`, { mode: 0o600 })
}

/** The process that locked the directory last, such as "1234". Empty if it is not known. */
export const lastHolder = (directory: string): string =>
  existsSync(pidFile(directory)) ? readFileSync(pidFile(directory), "utf8").trim() : ""
