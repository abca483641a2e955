/** Sealed keys in the table `sealed_keys`. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { guard } from "../sql/SqlErrors.ts"
import { SealedKeyStore } from "./SealedKeyStore.ts"

interface Row {
  readonly name: string
  readonly sealed: Uint8Array
}

export const layer = Layer.effect(
  SealedKeyStore,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    return {
      all: Effect.suspend(() => guard(sql<Row>`SELECT name, sealed FROM sealed_keys`)).pipe(
        Effect.map((rows) => new Map(rows.map(({ name, sealed }) => [name, sealed]))),
        Effect.withSpan("SealedKeyStore.all")
      ),
      put: Effect.fn("SealedKeyStore.put")((name, sealed, nowMs) =>
        Effect.asVoid(
          guard(
            sql`INSERT INTO sealed_keys (name, sealed, updated_at_ms) VALUES (${name}, ${sealed}, ${nowMs}::bigint)
                ON CONFLICT (name) DO UPDATE SET sealed = EXCLUDED.sealed, updated_at_ms = EXCLUDED.updated_at_ms`
          )
        )
      ),
      remove: Effect.fn("SealedKeyStore.remove")((name) =>
        Effect.map(
          guard(sql`DELETE FROM sealed_keys WHERE name = ${name} RETURNING 1 AS removed`),
          (rows) => rows.length > 0
        )
      )
    }
  })
)
