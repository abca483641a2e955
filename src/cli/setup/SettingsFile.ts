/**
 * A client's settings file. A change keeps a copy of the file as it was, and replaces the file at
 * once, so that a client never reads half of it. A file with a key in it can be read by its owner
 * alone.
 */
import { Clock, Effect, FileSystem, Path, type PlatformError, Result } from "effect"
import { CommandFailed } from "../Failure.ts"
import { type Merged, merged, type Setting, type SettingsFormat } from "./SettingsText.ts"

const OWNER_ALONE = 0o600
const MAX_BYTES = 10_000_000

export interface Prepared extends Merged {
  readonly file: string
  /** The text as it is; null: there is no file. */
  readonly before: string | null
}

const failed = (file: string, why: string) =>
  new CommandFailed({
    code: "refused",
    message: `${file} was not changed: ${why}.`,
    remedy: "Repair the file, or run the command without --write and add the printed settings by hand."
  })

/** The words of the system, such as `EACCES`. */
const asFailure = (file: string) => (error: PlatformError.PlatformError) => failed(file, error.reason._tag)

const textOf = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const { size } = yield* files.stat(file)
  if (size > MAX_BYTES) return yield* failed(file, "it is too large")
  return yield* files.readFileString(file)
})

/** Reads the file and merges the settings into its text. Writes nothing. */
export const prepared = Effect.fnUntraced(function* (
  file: string,
  format: SettingsFormat,
  settings: ReadonlyArray<Setting>
) {
  const before = yield* Effect.catchTag(textOf(file), "PlatformError", (error) =>
    error.reason._tag === "NotFound" ? Effect.succeed(null) : Effect.fail(asFailure(file)(error))
  )
  const text = before === null || before.trim() === "" ? format.blank : before
  const result = merged(format, text, settings)
  if (Result.isFailure(result)) return yield* failed(file, result.failure)
  return { file, before, ...result.success } as Prepared
})

/** Writes what was prepared. Returns the copy's path; null: there was no file, or no change. */
export const write = Effect.fnUntraced(function* ({ before, changed, file, text }: Prepared, hasKey: boolean) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.gen(function* () {
    if (before !== null && changed.length === 0) {
      if (hasKey) yield* files.chmod(file, OWNER_ALONE)
      return null
    }
    if (before === null) yield* files.makeDirectory(path.dirname(file), { recursive: true })
    // Behind a link is the file that its owner keeps.
    const real = before === null ? file : yield* files.realPath(file)
    const mode = before === null || hasKey ? OWNER_ALONE : (yield* files.stat(real)).mode & 0o777
    const nowMs = yield* Clock.currentTimeMillis
    const moment = new Date(nowMs).toISOString().replaceAll(/[-:.]/g, "")
    const copy = before === null ? null : `${real}.${moment}.bak`
    if (copy !== null && before !== null) {
      yield* files.writeFileString(copy, before, { mode: OWNER_ALONE, flag: "wx" })
    }
    const next = `${real}.${moment}.new`
    yield* files.writeFileString(next, text, { mode, flag: "wx" })
    yield* files.chmod(next, mode)
    yield* Effect.onError(files.rename(next, real), () => Effect.ignore(files.remove(next)))
    return copy
  }).pipe(Effect.catchTag("PlatformError", (error) => Effect.fail(asFailure(file)(error))))
})
