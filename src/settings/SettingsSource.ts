/**
 * Where settings come from: an environment, files and whether logs go to a terminal. Given as a value, so that a load is a function
 * of it; Settings supplies the process's own.
 */
import { Data, Effect, Predicate } from "effect"
import { readFileSync } from "node:fs"
import { type EnvironmentVariables } from "./Environment.ts"

/** A file that is there and cannot be read. `code`: the system's word for it, such as `EACCES`. */
export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{ readonly code: string }> {}

export interface SettingsSource {
  readonly env: EnvironmentVariables
  /** The text of a file; `null` when there is none. */
  readonly readFile: (path: string) => Effect.Effect<string | null, FileUnreadable>
  readonly isTerminal: boolean
}

/** Reads a file of this machine; relative paths start at the working directory. */
export const readFile: SettingsSource["readFile"] = (path) =>
  Effect.try({
    try: (): string | null => readFileSync(path, "utf8"),
    catch: (cause) => (Predicate.hasProperty(cause, "code") ? String(cause.code) : "unknown")
  }).pipe(
    Effect.catch((code) => (code === "ENOENT" ? Effect.succeed(null) : Effect.fail(new FileUnreadable({ code }))))
  )
