/** Refused credentials in the table `refused_credentials`: one statement per operation. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { guard } from "../sql/SqlErrors.ts"
import { storableJson } from "../sql/StorableJson.ts"
import { RefusedCredentialStore } from "./RefusedCredentialStore.ts"

const Address = Schema.Struct({
  address: Schema.String,
  count: Schema.Finite,
  firstMs: Schema.Finite,
  lastMs: Schema.Finite,
  byCredential: Schema.Record(Schema.String, Schema.Finite)
})
const decode = Schema.decodeUnknownEffect(Schema.Array(Address))

const makeSql = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return RefusedCredentialStore.of({
    add: Effect.fn("RefusedCredentialStore.add")(function* (counts) {
      const rows = counts.map(({ address, count, credential, lastMs, minuteMs }) => ({
        minute_ms: minuteMs,
        address,
        credential,
        count,
        last_ms: lastMs
      }))
      yield* guard(
        sql`INSERT INTO refused_credentials
            SELECT * FROM jsonb_populate_recordset(null::refused_credentials, ${storableJson(rows)}::jsonb)
            ON CONFLICT (minute_ms, address, credential) DO UPDATE SET
              count = refused_credentials.count + excluded.count,
              last_ms = greatest(refused_credentials.last_ms, excluded.last_ms)`
      )
    }),

    list: Effect.fn("RefusedCredentialStore.list")(function* ({ address = null, fromMs, limit, toMs }) {
      const rows = yield* guard(
        sql`SELECT address, sum(count)::bigint AS count, min(first_ms) AS "firstMs", max(last_ms) AS "lastMs",
              jsonb_object_agg(credential, count) AS "byCredential"
            FROM (
              SELECT address, credential, sum(count)::bigint AS count, min(minute_ms) AS first_ms, max(last_ms) AS last_ms
              FROM refused_credentials
              WHERE minute_ms >= ${fromMs}::bigint AND minute_ms < ${toMs}::bigint
                AND (${address}::text IS NULL OR address = ${address})
              GROUP BY address, credential
            ) AS by_credential
            GROUP BY address ORDER BY max(last_ms) DESC, address LIMIT ${limit}`
      )
      return yield* Effect.orDie(decode(rows))
    }),

    deleteOld: Effect.fn("RefusedCredentialStore.deleteOld")((beforeMs, most) =>
      Effect.asVoid(
        guard(
          sql`DELETE FROM refused_credentials WHERE minute_ms < greatest(${beforeMs}::bigint,
                (SELECT minute_ms + 1 FROM refused_credentials ORDER BY minute_ms DESC OFFSET ${most} LIMIT 1))`
        )
      )
    )
  })
})

export const layer = Layer.effect(RefusedCredentialStore, makeSql)
