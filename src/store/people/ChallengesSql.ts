/** Codes and flows in the tables `sign_in_codes` and `oauth_flows`: one statement per operation. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Option, Schema, Layer } from "effect"
import { Challenges, type OAuthFlow } from "./Challenges.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"

const FlowRow = Schema.Struct({
  stateHash: Schema.String,
  browserHash: Schema.String,
  provider: Schema.String,
  nonce: Schema.String,
  verifier: Schema.String,
  redirectTo: Schema.NullOr(Schema.String),
  expiresAtMs: Schema.Finite
})
const flowTable = tableOf<OAuthFlow>("oauth_flows", FlowRow)

export const makeChallengesSql: Effect.Effect<Challenges["Service"], never, PgClient.PgClient> = Effect.gen(
  function* () {
    const sql = yield* PgClient.PgClient
    const flowColumns = sql.literal(columnList(flowTable.columns))

    return {
      open: Effect.fn("Challenges.open")((challenge) => {
        const { attemptsTaken, channel, codeHash, createdAtMs, destination, expiresAtMs, id, networkHash } = challenge
        return Effect.asVoid(
          guard(
            sql`INSERT INTO sign_in_codes
                  (id, channel, destination, code_hash, network_hash, attempts, created_at_ms, expires_at_ms)
                VALUES (${id}, ${channel}, ${destination}, ${codeHash}, ${networkHash}, ${attemptsTaken}::integer,
                  ${createdAtMs}::bigint, ${expiresAtMs}::bigint)`
          )
        )
      }),

      countSince: Effect.fn("Challenges.countSince")((destination, networkHash, sinceMs) =>
        Effect.map(
          guard(
            sql<{ readonly codes: number; readonly of_network: number }>`
              SELECT count(*) AS codes, count(*) FILTER (WHERE network_hash = ${networkHash}) AS of_network
              FROM sign_in_codes WHERE destination = ${destination} AND created_at_ms >= ${sinceMs}::bigint`
          ),
          ([row]) => ({ all: row?.codes ?? 0, ofNetwork: row?.of_network ?? 0 })
        )
      ),

      attempt: Effect.fn("Challenges.attempt")(({ channel, id, maxAttempts, nowMs }) =>
        Effect.map(
          guard(
            sql<{ readonly destination: string; readonly code_hash: string }>`
              UPDATE sign_in_codes SET attempts = attempts + 1
              WHERE id = ${id} AND channel = ${channel} AND attempts < ${maxAttempts} AND consumed_at_ms IS NULL
                AND expires_at_ms > ${nowMs}::bigint
              RETURNING destination, code_hash`
          ),
          ([row]) =>
            row === undefined ? Option.none() : Option.some({ destination: row.destination, codeHash: row.code_hash })
        )
      ),

      consume: Effect.fn("Challenges.consume")((id, nowMs) =>
        Effect.map(
          guard(
            sql`UPDATE sign_in_codes SET consumed_at_ms = ${nowMs}::bigint
                WHERE id = ${id} AND consumed_at_ms IS NULL AND expires_at_ms > ${nowMs}::bigint RETURNING id`
          ),
          (rows) => rows.length > 0
        )
      ),

      openFlow: Effect.fn("Challenges.openFlow")((flow) =>
        Effect.asVoid(
          guard(
            sql`INSERT INTO oauth_flows (${flowColumns})
                SELECT ${flowColumns} FROM jsonb_populate_record(null::oauth_flows, ${sql.json(flowTable.encode(flow))})`
          )
        )
      ),

      takeFlow: Effect.fn("Challenges.takeFlow")(function* (stateHash, nowMs) {
        const rows = yield* guard(sql`DELETE FROM oauth_flows WHERE state_hash = ${stateHash} RETURNING ${flowColumns}`)
        const [flow] = yield* flowTable.decode(rows)
        return flow === undefined || flow.expiresAtMs <= nowMs ? Option.none() : Option.some(flow)
      }),

      deleteBefore: Effect.fn("Challenges.deleteBefore")(function* (beforeMs) {
        yield* guard(sql`DELETE FROM sign_in_codes WHERE created_at_ms < ${beforeMs}::bigint`)
        yield* guard(sql`DELETE FROM oauth_flows WHERE expires_at_ms < ${beforeMs}::bigint`)
      })
    }
  }
)

export const layer = Layer.effect(Challenges, makeChallengesSql)
