/**
 * A secret in a file of the data directory. It is created on first use, readable by its owner only,
 * and the same at every later start. Two processes that start at once agree on one secret.
 */
import { Data, Effect, Redacted } from "effect"
import { mkdir, open, readFile } from "node:fs/promises"
import { dirname } from "node:path"

/** The file cannot be read or written. `cause` says why. */
export class SecretFileError extends Data.TaggedError("SecretFileError")<{
  readonly path: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `the file ${this.path} cannot be used: ${String(this.cause)}`
  }
}

export interface SecretFile {
  readonly value: Redacted.Redacted
  readonly path: string
  /** True when this call created it. */
  readonly fresh: boolean
}

const attempt = <A>(path: string, run: () => Promise<A>): Effect.Effect<A, SecretFileError> =>
  Effect.tryPromise({ try: run, catch: (cause) => new SecretFileError({ path, cause }) })

const hasCode = (error: SecretFileError, code: string): boolean =>
  typeof error.cause === "object" && error.cause !== null && "code" in error.cause && error.cause.code === code

const read = (path: string): Effect.Effect<SecretFile, SecretFileError> =>
  Effect.map(
    attempt(path, () => readFile(path, "utf8")),
    (text) => ({ value: Redacted.make(text.trim()), path, fresh: false })
  )

/**
 * Writes a file that must not exist yet. A process that loses the race reads the winner's secret.
 */
const write = (path: string, value: string): Effect.Effect<SecretFile, SecretFileError> =>
  Effect.gen(function* () {
    yield* attempt(path, () => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
    yield* Effect.acquireUseRelease(
      attempt(path, () => open(path, "wx", 0o600)),
      (file) => attempt(path, () => file.writeFile(`${value}\n`)),
      (file) => Effect.promise(() => file.close())
    )
    return { value: Redacted.make(value), path, fresh: true }
  })

/** The secret at `path`, or null when there is no file. */
export const findSecret = (path: string): Effect.Effect<SecretFile | null, SecretFileError> =>
  Effect.catch(read(path), (error) => (hasCode(error, "ENOENT") ? Effect.succeed(null) : Effect.fail(error)))

/** The secret at `path`, created by `make` when there is none. */
export const readOrMakeSecret = <E, R>(
  path: string,
  make: Effect.Effect<Redacted.Redacted, E, R>
): Effect.Effect<SecretFile, E | SecretFileError, R> =>
  Effect.gen(function* () {
    const found = yield* findSecret(path)
    if (found !== null) return found
    const value = Redacted.value(yield* make)
    return yield* Effect.catch(write(path, value), (error) =>
      hasCode(error, "EEXIST") ? read(path) : Effect.fail(error)
    )
  })
