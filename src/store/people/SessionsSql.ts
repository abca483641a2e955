/**
 * Sessions in the tables `sessions` and `refresh_tokens`. An exchange is one call of
 * `session_rotate`.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Option, Schema, Layer } from "effect"
import { type SessionRecord } from "../../domain/User.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { type Rotated, Sessions } from "./Sessions.ts"
import { guard } from "../sql/SqlErrors.ts"

const Row = Schema.Struct({
  id: Schema.String,
  userId: Schema.String,
  signedInBy: Schema.String,
  userAgent: Schema.NullOr(Schema.String),
  createdAtMs: Schema.Finite,
  lastUsedAtMs: Schema.Finite,
  expiresAtMs: Schema.Finite,
  revokedAtMs: Schema.NullOr(Schema.Finite)
})
const sessionTable = tableOf<SessionRecord>("sessions", Row)

export const makeSessionsSql: Effect.Effect<Sessions["Service"], never, PgClient.PgClient> = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(sessionTable.columns))
  const columnsOf = sql.literal(columnList(sessionTable.columns, "s"))

  const first = <E, R>(rows: Effect.Effect<ReadonlyArray<object>, E, R>) =>
    Effect.map(Effect.flatMap(rows, sessionTable.decode), (sessions) => Option.fromUndefinedOr(sessions[0]))

  return {
    insert: Effect.fn("Sessions.insert")(function* (session, tokenHash) {
      const row = sql.json(sessionTable.encode(session))
      yield* guard(
        // The foreign key of the token is checked at the end of the statement.
        sql`WITH made AS (
              INSERT INTO sessions (${columns}) SELECT ${columns} FROM jsonb_populate_record(null::sessions, ${row}) RETURNING id
            )
            INSERT INTO refresh_tokens (hash, session_id, created_at_ms)
            SELECT ${tokenHash}, id, ${session.createdAtMs}::bigint FROM made`
      )
    }),

    rotate: Effect.fn("Sessions.rotate")(function* ({ expiresAtMs, graceMs, nextHash, nowMs, tokenHash }) {
      const rows = yield* guard(
        sql<{ readonly outcome: Rotated["outcome"] }>`
          SELECT outcome, (family).* FROM session_rotate(${tokenHash}, ${nextHash}, ${nowMs}::bigint, ${graceMs}::bigint,
            ${expiresAtMs}::bigint)`
      )
      const [session] = yield* sessionTable.decode(rows)
      const outcome = rows[0]?.outcome
      return session === undefined || outcome === undefined ? Option.none() : Option.some({ outcome, session })
    }),

    get: Effect.fn("Sessions.get")((id) => first(guard(sql`SELECT ${columns} FROM sessions WHERE id = ${id}`))),

    findByToken: Effect.fn("Sessions.findByToken")((hash) =>
      first(
        guard(
          sql`SELECT ${columnsOf} FROM sessions AS s JOIN refresh_tokens AS t ON t.session_id = s.id WHERE t.hash = ${hash}`
        )
      )
    ),

    holder: Effect.fn("Sessions.holder")((hash, nowMs) =>
      Effect.map(
        guard(
          sql<{ readonly user_id: string }>`
            SELECT s.user_id FROM sessions AS s JOIN refresh_tokens AS t ON t.session_id = s.id
            WHERE t.hash = ${hash} AND t.replaced_at_ms IS NULL AND s.revoked_at_ms IS NULL AND s.expires_at_ms > ${nowMs}::bigint`
        ),
        (rows) => Option.fromUndefinedOr(rows[0]?.user_id)
      )
    ),

    live: Effect.fn("Sessions.live")((userId, nowMs) =>
      Effect.flatMap(
        guard(
          sql`SELECT ${columns} FROM sessions
              WHERE user_id = ${userId} AND revoked_at_ms IS NULL AND expires_at_ms > ${nowMs}::bigint ORDER BY id DESC`
        ),
        sessionTable.decode
      )
    ),

    revoke: Effect.fn("Sessions.revoke")((id, userId, nowMs) =>
      Effect.map(
        guard(
          sql`UPDATE sessions SET revoked_at_ms = coalesce(revoked_at_ms, ${nowMs}::bigint)
              WHERE id = ${id} AND user_id = ${userId} RETURNING id`
        ),
        (rows) => rows.length > 0
      )
    ),

    revokeAll: Effect.fn("Sessions.revokeAll")((userId, nowMs) =>
      Effect.asVoid(
        guard(
          sql`UPDATE sessions SET revoked_at_ms = ${nowMs}::bigint WHERE user_id = ${userId} AND revoked_at_ms IS NULL`
        )
      )
    ),

    deleteBefore: Effect.fn("Sessions.deleteBefore")((beforeMs) =>
      Effect.asVoid(guard(sql`DELETE FROM sessions WHERE expires_at_ms < ${beforeMs}::bigint`))
    )
  }
})

export const layer = Layer.effect(Sessions, makeSessionsSql)
