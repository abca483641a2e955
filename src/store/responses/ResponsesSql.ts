/** Responses in the table `responses`: one row per response, one statement per operation. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option } from "effect"
import { guard } from "../sql/SqlErrors.ts"
import { ResponseStore } from "./ResponseStore.ts"

export const makeResponsesSql: Effect.Effect<ResponseStore["Service"], never, PgClient.PgClient> = Effect.gen(
  function* () {
    const sql = yield* PgClient.PgClient

    return {
      insert: Effect.fn("ResponseStore.insert")(({ expiresAtMs, id, keyId, sealed }) =>
        Effect.asVoid(
          guard(
            sql`INSERT INTO responses (key_id, id, expires_at_ms, sealed)
                VALUES (${keyId}, ${id}, ${expiresAtMs}::bigint, ${sealed}) ON CONFLICT DO NOTHING`
          )
        )
      ),

      find: Effect.fn("ResponseStore.find")(function* ({ id, keyId }, nowMs) {
        const [row] = yield* guard(
          sql<{ readonly sealed: Uint8Array }>`
            SELECT sealed FROM responses WHERE key_id = ${keyId} AND id = ${id} AND expires_at_ms > ${nowMs}::bigint`
        )
        return Option.fromUndefinedOr(row?.sealed)
      }),

      remove: Effect.fn("ResponseStore.remove")(function* ({ id, keyId }, nowMs) {
        const [row] = yield* guard(
          sql<{ readonly readable: boolean }>`
            DELETE FROM responses WHERE key_id = ${keyId} AND id = ${id}
            RETURNING expires_at_ms > ${nowMs}::bigint AS readable`
        )
        return row?.readable === true
      }),

      trim: Effect.fn("ResponseStore.trim")((keyId, maxBytes) =>
        Effect.asVoid(
          guard(
            sql`DELETE FROM responses WHERE key_id = ${keyId} AND id IN (
                  SELECT id FROM (
                    SELECT id, sum(octet_length(sealed)) OVER (ORDER BY position DESC) AS bytes
                    FROM responses WHERE key_id = ${keyId}
                  ) AS newest WHERE bytes > ${maxBytes}::bigint
                )`
          )
        )
      ),

      removeAll: Effect.fn("ResponseStore.removeAll")((keyId) =>
        Effect.asVoid(guard(sql`DELETE FROM responses WHERE key_id = ${keyId}`))
      ),

      deleteExpired: Effect.fn("ResponseStore.deleteExpired")(function* (nowMs, limit) {
        const rows = yield* guard(
          sql`DELETE FROM responses WHERE position = ANY(ARRAY(
                SELECT position FROM responses WHERE expires_at_ms <= ${nowMs}::bigint
                ORDER BY expires_at_ms LIMIT ${limit} FOR UPDATE SKIP LOCKED
              )) RETURNING 1`
        )
        return rows.length
      })
    }
  }
)

export const layer = Layer.effect(ResponseStore, makeResponsesSql)
