/**
 * Idempotency keys in the table `idempotency_keys`: one row per key, one statement per operation.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { type ClaimResult, IdempotencyStore } from "./IdempotencyStore.ts"
import { guard } from "../sql/SqlErrors.ts"

interface Row {
  readonly claimed: boolean
  readonly fingerprint: string
  readonly reply: Uint8Array | null
}

export const makeIdempotencySql: Effect.Effect<IdempotencyStore["Service"], never, PgClient.PgClient> = Effect.gen(
  function* () {
    const sql = yield* PgClient.PgClient

    return {
      claim: Effect.fn("IdempotencyStore.claim")(function* (claim) {
        const { expiresAtMs, fingerprint, holder, id, leaseUntilMs, nowMs } = claim
        while (true) {
          const [row] = yield* guard(
            sql<Row>`
              WITH claimed AS (
                INSERT INTO idempotency_keys AS k (id, holder, fingerprint, lease_until_ms, expires_at_ms)
                VALUES (${id}, ${holder}, ${fingerprint}, ${leaseUntilMs}::bigint, ${expiresAtMs}::bigint)
                ON CONFLICT (id) DO UPDATE
                  SET holder = excluded.holder, fingerprint = excluded.fingerprint, reply = NULL,
                      lease_until_ms = excluded.lease_until_ms, expires_at_ms = excluded.expires_at_ms
                  WHERE k.expires_at_ms <= ${nowMs}::bigint OR k.reply IS NULL AND k.lease_until_ms <= ${nowMs}::bigint
                RETURNING fingerprint
              )
              SELECT true AS claimed, fingerprint, NULL::bytea AS reply FROM claimed
              UNION ALL
              SELECT false, fingerprint, reply FROM idempotency_keys
              WHERE id = ${id} AND NOT EXISTS (SELECT FROM claimed)`
          )
          // Another request took or released the key while this statement ran: retry.
          if (row === undefined) continue
          if (row.claimed) return { _tag: "Claimed" }
          const found: ClaimResult =
            row.reply === null
              ? { _tag: "Running", fingerprint: row.fingerprint }
              : { _tag: "Completed", fingerprint: row.fingerprint, reply: row.reply }
          return found
        }
      }),

      renew: Effect.fn("IdempotencyStore.renew")((claims, leaseUntilMs) =>
        Effect.asVoid(
          guard(
            // Locks rows in the order of their ids, so that processes that renew leases
            // concurrently never deadlock.
            sql`WITH held AS (
                  SELECT k.id FROM idempotency_keys AS k
                  JOIN unnest(${claims.map(({ id }) => id)}::text[], ${claims.map(({ holder }) => holder)}::text[]) AS one(id, holder)
                    ON one.id = k.id AND one.holder = k.holder
                  WHERE k.reply IS NULL ORDER BY k.id FOR NO KEY UPDATE OF k
                )
                UPDATE idempotency_keys SET lease_until_ms = ${leaseUntilMs}::bigint WHERE id IN (SELECT id FROM held)`
          )
        )
      ),

      complete: Effect.fn("IdempotencyStore.complete")(({ holder, id }, reply, expiresAtMs) =>
        Effect.asVoid(
          guard(
            sql`UPDATE idempotency_keys SET reply = ${reply}, expires_at_ms = ${expiresAtMs}::bigint
                WHERE id = ${id} AND holder = ${holder} AND reply IS NULL`
          )
        )
      ),

      release: Effect.fn("IdempotencyStore.release")(({ holder, id }) =>
        Effect.asVoid(
          guard(sql`DELETE FROM idempotency_keys WHERE id = ${id} AND holder = ${holder} AND reply IS NULL`)
        )
      ),

      deleteExpired: Effect.fn("IdempotencyStore.deleteExpired")(function* (nowMs, limit) {
        const rows = yield* guard(
          sql`DELETE FROM idempotency_keys WHERE id = ANY(ARRAY(
                SELECT id FROM idempotency_keys WHERE expires_at_ms <= ${nowMs}::bigint
                ORDER BY expires_at_ms LIMIT ${limit} FOR UPDATE SKIP LOCKED
              )) RETURNING 1`
        )
        return rows.length
      })
    }
  }
)

export const layer = Layer.effect(IdempotencyStore, makeIdempotencySql)
