/** Notices in the tables `webhook_dead_letters` and `budget_notices`: one statement for each operation. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import { eventTypes } from "../../domain/Events.ts"
import type { DeadLetter, Notices } from "./Notices.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"

const Row = Schema.Struct({
  id: Schema.String,
  eventId: Schema.String,
  type: Schema.Literals(eventTypes),
  url: Schema.String,
  body: Schema.String,
  attempts: Schema.Finite,
  lastError: Schema.String,
  createdAtMs: Schema.Finite,
  failedAtMs: Schema.Finite
})
const letterTable = tableOf<DeadLetter>("webhook_dead_letters", Row)

export const makeNoticesSql: Effect.Effect<Notices["Service"], never, PgClient.PgClient> = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(letterTable.columns))

  return {
    bury: Effect.fn("Notices.bury")((letter) =>
      Effect.asVoid(
        guard(
          sql`INSERT INTO webhook_dead_letters (${columns})
              SELECT ${columns} FROM jsonb_populate_record(null::webhook_dead_letters, ${sql.json(letterTable.encode(letter))})
              ON CONFLICT (id) DO NOTHING`
        )
      )
    ),

    buried: Effect.fn("Notices.buried")(function* ({ cursor, limit }) {
      const rows = yield* guard(
        sql`SELECT ${columns} FROM webhook_dead_letters
            WHERE ${cursor}::text IS NULL OR id < ${cursor} ORDER BY id DESC LIMIT ${limit + 1}`
      )
      const found = yield* letterTable.decode(rows)
      const letters = found.slice(0, limit)
      return { letters, nextCursor: found.length > limit ? (letters.at(-1)?.id ?? null) : null }
    }),

    mark: Effect.fn("Notices.mark")(({ capNano, keyId, month, percent }) =>
      Effect.map(
        guard(
          sql`INSERT INTO budget_notices (key_id, month, percent, cap_nano)
              VALUES (${keyId}, ${month}, ${percent}, ${capNano}::bigint)
              ON CONFLICT DO NOTHING RETURNING key_id`
        ),
        (rows) => rows.length > 0
      )
    ),

    forget: Effect.fn("Notices.forget")(function* (beforeMs, month) {
      yield* guard(sql`DELETE FROM webhook_dead_letters WHERE failed_at_ms < ${beforeMs}::bigint`)
      yield* guard(sql`DELETE FROM budget_notices WHERE month < ${month}`)
    })
  }
})
