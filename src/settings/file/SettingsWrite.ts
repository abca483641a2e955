/**
 * Replaces the settings file at once: a reader sees the old file or the new one, and the new one is
 * on the disk before it is in its place. A copy of the old one stays beside it. Mode and symbolic
 * links are kept. A file that changed since it was read is not replaced.
 */
import { Clock, Data, Effect, Predicate } from "effect"
import { copyFile, open, readFile, realpath, rename, rm, stat } from "node:fs/promises"
import { randomBytes } from "node:crypto"

export class SettingsUnwritten extends Data.TaggedError("SettingsUnwritten")<{
  /** `busy`: another change of the file is being written. */
  readonly reason: "changed" | "unwritable" | "busy"
  /** The system's error code, such as `EROFS`. */
  readonly code: string
}> {}

const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "code") ? String(cause.code) : "unknown")

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, SettingsUnwritten> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new SettingsUnwritten({ reason: "unwritable", code: codeOf(cause) })
  })

const OWNER_ALONE = 0o600
/** A lock of a process that died. */
const STALE_MS = 60_000

const orNull = <A>(effect: Effect.Effect<A, SettingsUnwritten>): Effect.Effect<A | null, SettingsUnwritten> =>
  Effect.catch(effect, (error) => (error.code === "ENOENT" ? Effect.succeed(null) : Effect.fail(error)))

/** The text of the file; null: there is none. */
export const textOf = (file: string): Effect.Effect<string | null, SettingsUnwritten> =>
  orNull(attempt(() => readFile(file, "utf8")))

/** Holds `<file>.lock` while `use` runs. */
const locked = <A>(file: string, use: Effect.Effect<A, SettingsUnwritten>): Effect.Effect<A, SettingsUnwritten> => {
  const lock = `${file}.lock`
  const take = attempt(() => open(lock, "wx", OWNER_ALONE).then((file) => file.close()))
  const busy = new SettingsUnwritten({ reason: "busy", code: "EEXIST" })
  const taken = Effect.catch(take, (error) =>
    error.code !== "EEXIST"
      ? Effect.fail(error)
      : Effect.gen(function* () {
          const found = yield* orNull(attempt(() => stat(lock)))
          const nowMs = yield* Clock.currentTimeMillis
          if (found !== null && nowMs - found.mtimeMs < STALE_MS) return yield* busy
          yield* attempt(() => rm(lock, { force: true }))
          yield* Effect.catch(take, (again) => Effect.fail(again.code === "EEXIST" ? busy : again))
        })
  )
  return Effect.acquireUseRelease(
    taken,
    () => use,
    () => Effect.ignore(attempt(() => rm(lock, { force: true })))
  )
}

/**
 * Writes `text` in place of `before`; null: there was no file. Returns the path of the copy, or
 * null.
 */
export const replace = Effect.fnUntraced(function* (
  file: string,
  before: string | null,
  text: string
): Effect.fn.Return<string | null, SettingsUnwritten> {
  const real = before === null ? file : yield* attempt(() => realpath(file))
  const nowMs = yield* Clock.currentTimeMillis
  const moment = new Date(nowMs).toISOString().replaceAll(/[-:.]/g, "")
  const tag = `${moment}-${randomBytes(3).toString("hex")}`
  const next = `${real}.${tag}.new`
  const copy = before === null ? null : `${real}.${tag}.bak`
  const write = Effect.gen(function* () {
    const mode = before === null ? OWNER_ALONE : (yield* attempt(() => stat(real))).mode & 0o777
    if ((yield* textOf(real)) !== before) return yield* new SettingsUnwritten({ reason: "changed", code: "" })
    yield* Effect.acquireUseRelease(
      attempt(() => open(next, "wx", mode)),
      (opened) =>
        attempt(() =>
          opened
            .writeFile(text)
            .then(() => opened.chmod(mode))
            .then(() => opened.sync())
        ),
      (opened) => Effect.promise(() => opened.close())
    )
    if (copy !== null) yield* attempt(() => copyFile(real, copy))
    yield* attempt(() => rename(next, real))
  }).pipe(Effect.onError(() => Effect.ignore(attempt(() => rm(next, { force: true })))))
  return yield* Effect.as(locked(real, write), copy)
})
