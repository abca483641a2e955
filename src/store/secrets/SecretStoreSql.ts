/** Secrets in the table `kept_secrets`, shared by all processes on one database. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { guard } from "../sql/SqlErrors.ts"
import { SecretStore } from "./SecretStore.ts"

/** In the database. */
export const layer = Layer.effect(
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
      remove: Effect.fn("SecretStore.remove")((name) =>
        Effect.asVoid(guard(sql`DELETE FROM kept_secrets WHERE name = ${name}`))
      )
    }
  })
)
