/**
 * Secrets that the gateway makes for itself, by name: made by whoever asks first, the same for all who share the vault, readable by the
 * operator only. In files of the data directory for one process; in the table `kept_secrets` for several.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { readOrMakeSecret } from "./SecretFile.ts"
import { databaseError, guard } from "../sql/SqlErrors.ts"
import { type StoreError } from "../StoreError.ts"

export class SecretStore extends Context.Service<
  SecretStore,
  {
    /** The secret of this name, made by `make` if there is none. Two that ask at once get the same. `name` is lower case, digits and `-`. */
    readonly keep: (name: string, make: Effect.Effect<string>) => Effect.Effect<Redacted.Redacted, StoreError>
    readonly forget: (name: string) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/secrets/SecretStore") {
  /** In the database. */
  static readonly layer = Layer.effect(
    SecretStore,
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const find = (name: string) =>
        Effect.map(
          guard(sql<{ readonly value: string }>`SELECT value FROM kept_secrets WHERE name = ${name}`),
          (rows) => rows[0]?.value
        )
      return {
        keep: Effect.fn("SecretStore.keep")(function* (name, make) {
          const known = yield* find(name)
          if (known !== undefined) return Redacted.make(known)
          const made = yield* make
          yield* guard(
            sql`INSERT INTO kept_secrets (name, value) VALUES (${name}, ${made}) ON CONFLICT (name) DO NOTHING`
          )
          // Somebody else may have been first, or have forgotten it again at this very moment.
          return Redacted.make((yield* find(name)) ?? made)
        }),
        forget: Effect.fn("SecretStore.forget")((name) =>
          Effect.asVoid(guard(sql`DELETE FROM kept_secrets WHERE name = ${name}`))
        )
      }
    })
  )

  /** Files of mode 0600 in a directory of mode 0700; a disk that fails counts as the database that failed. */
  static readonly layerFiles = (directory: string) =>
    Layer.sync(SecretStore, () => ({
      keep: (name, make) =>
        readOrMakeSecret(join(directory, name), Effect.map(make, Redacted.make)).pipe(
          Effect.mapBoth({ onFailure: databaseError, onSuccess: ({ value }) => value })
        ),
      forget: (name) =>
        Effect.tryPromise({ try: () => rm(join(directory, name), { force: true }), catch: databaseError })
    }))

  /** Each build starts empty. */
  static readonly layerMemory = Layer.sync(SecretStore, () => {
    const secrets = new Map<string, string>()
    return {
      keep: (name, make) =>
        Effect.gen(function* () {
          const value = secrets.get(name) ?? (yield* make)
          const kept = secrets.get(name) ?? value
          secrets.set(name, kept)
          return Redacted.make(kept)
        }),
      forget: (name) => Effect.sync(() => void secrets.delete(name))
    }
  })
}
