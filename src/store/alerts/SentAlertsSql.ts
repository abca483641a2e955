/** Sent alerts in the table `budget_notices`: one statement per operation. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { guard } from "../sql/SqlErrors.ts"
import { SentAlerts } from "./SentAlerts.ts"

const makeSentAlertsSql = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  return SentAlerts.of({
    add: Effect.fn("SentAlerts.add")(({ capNano, keyId, month, percent }) =>
      Effect.map(
        guard(
          sql`INSERT INTO budget_notices (key_id, month, percent, cap_nano)
              VALUES (${keyId}, ${month}, ${percent}, ${capNano}::bigint)
              ON CONFLICT DO NOTHING RETURNING key_id`
        ),
        (rows) => rows.length > 0
      )
    ),

    deleteBefore: Effect.fn("SentAlerts.deleteBefore")((month) =>
      Effect.asVoid(guard(sql`DELETE FROM budget_notices WHERE month < ${month}`))
    )
  })
})

export const layer = Layer.effect(SentAlerts, makeSentAlertsSql)
