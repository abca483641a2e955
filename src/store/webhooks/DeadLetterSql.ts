/** Dead letters in the table `webhook_dead_letters`: one statement per operation. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Schema } from "effect"
import { eventTypes } from "../../domain/Events.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"
import { type DeadLetter, DeadLetterStore } from "./DeadLetterStore.ts"

const Row = Schema.Struct({
  id: Schema.String,
  eventId: Schema.String,
  type: Schema.Literals(eventTypes),
  url: Schema.String,
  body: Schema.String,
  attempts: Schema.Finite,
  lastError: Schema.String,
  createdAtMs: Schema.Finite,
  failedAtMs: Schema.Finite,
  retriedAtMs: Schema.NullOr(Schema.Finite)
})
const table = tableOf<DeadLetter>("webhook_dead_letters", Row)

const makeDeadLetterSql = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(table.columns))

  return DeadLetterStore.of({
    add: Effect.fn("DeadLetterStore.add")((letter) =>
      Effect.asVoid(
        guard(
          sql`INSERT INTO webhook_dead_letters (${columns})
              SELECT ${columns} FROM jsonb_populate_record(null::webhook_dead_letters, ${sql.json(table.encode(letter))})
              ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, last_error = excluded.last_error,
                failed_at_ms = excluded.failed_at_ms, retried_at_ms = excluded.retried_at_ms`
        )
      )
    ),

    list: Effect.fn("DeadLetterStore.list")(function* ({ cursor, limit }) {
      const rows = yield* guard(
        sql`SELECT ${columns} FROM webhook_dead_letters
            WHERE retried_at_ms IS NULL AND (${cursor}::text IS NULL OR id < ${cursor}) ORDER BY id DESC LIMIT ${limit + 1}`
      )
      const found = yield* table.decode(rows)
      const letters = found.slice(0, limit)
      return { letters, nextCursor: found.length > limit ? (letters.at(-1)?.id ?? null) : null }
    }),

    get: Effect.fn("DeadLetterStore.get")(function* (id) {
      const rows = yield* guard(sql`SELECT ${columns} FROM webhook_dead_letters WHERE id = ${id}`)
      const [letter] = yield* table.decode(rows)
      return Option.fromUndefinedOr(letter)
    }),

    markRetried: Effect.fn("DeadLetterStore.markRetried")((id, retriedAtMs) =>
      Effect.asVoid(guard(sql`UPDATE webhook_dead_letters SET retried_at_ms = ${retriedAtMs}::bigint WHERE id = ${id}`))
    ),

    deleteBefore: Effect.fn("DeadLetterStore.deleteBefore")((failedAtMs) =>
      Effect.asVoid(guard(sql`DELETE FROM webhook_dead_letters WHERE failed_at_ms < ${failedAtMs}::bigint`))
    )
  })
})

export const layer = Layer.effect(DeadLetterStore, makeDeadLetterSql)
