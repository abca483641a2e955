/**
 * Secrets that the gateway generates, by name. The first request creates a secret, and all
 * processes that share the store get the same one. Only the operator can read them elsewhere. One
 * process keeps them in files of the data directory, several keep them in the table `kept_secrets`.
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
    /**
     * The secret of this name, created by `make` when there is none. Concurrent callers get the
     * same one. `name` consists of lower-case letters, digits and `-`.
     */
    readonly getOrCreate: (name: string, make: Effect.Effect<string>) => Effect.Effect<Redacted.Redacted, StoreError>
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
        getOrCreate: Effect.fn("SecretStore.getOrCreate")(function* (name, make) {
          const known = yield* find(name)
          if (known !== undefined) return Redacted.make(known)
          const made = yield* make
          yield* guard(
            sql`INSERT INTO kept_secrets (name, value) VALUES (${name}, ${made}) ON CONFLICT (name) DO NOTHING`
          )
          // Another process may have inserted it first, or removed it again in the meantime.
          return Redacted.make((yield* find(name)) ?? made)
        }),
        forget: Effect.fn("SecretStore.forget")((name) =>
          Effect.asVoid(guard(sql`DELETE FROM kept_secrets WHERE name = ${name}`))
        )
      }
    })
  )

  /**
   * Files of mode 0600 in a directory of mode 0700. A disk failure is reported as a failure of the
   * database.
   */
  static readonly layerFiles = (directory: string) =>
    Layer.sync(SecretStore, () => ({
      getOrCreate: (name, make) =>
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
      getOrCreate: (name, make) =>
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
