/**
 * The input of a settings load: environment, files, and whether logs go to a terminal. It is a
 * value, so that a load is a function of it. Settings.ts supplies the process's own.
 */
import { Data, Effect, Predicate } from "effect"
import { readFileSync } from "node:fs"
import { type EnvironmentVariables } from "./Environment.ts"

/** A file that exists but cannot be read. `code`: the system's error code, such as `EACCES`. */
export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{ readonly code: string }> {}

export interface SettingsSource {
  readonly env: EnvironmentVariables
  /** The text of a file, or `null` if it does not exist. */
  readonly readFile: (path: string) => Effect.Effect<string | null, FileUnreadable>
  readonly isTerminal: boolean
}

/** Reads a file. Relative paths start at the working directory. */
export const readFile: SettingsSource["readFile"] = (path) =>
  Effect.try({
    try: (): string | null => readFileSync(path, "utf8"),
    catch: (cause) => (Predicate.hasProperty(cause, "code") ? String(cause.code) : "unknown")
  }).pipe(
    Effect.catch((code) => (code === "ENOENT" ? Effect.succeed(null) : Effect.fail(new FileUnreadable({ code }))))
  )
