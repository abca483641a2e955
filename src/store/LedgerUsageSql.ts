/** What an owner's keys have used, out of Postgres: one statement over the index of owner and time. */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { UsageRow, UsageSpan } from "./Ledger.ts"
import { guard } from "./SqlFault.ts"

interface Row {
  readonly day: string
  readonly model: string
  readonly key_id: string
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly billed_nano: number
}

export const makeUsage = (sql: PgClient.PgClient) =>
  Effect.fn("Ledger.usage")(function* ({ fromMs, ownerId, toMs }: UsageSpan) {
    const rows = yield* guard(
      sql<Row>`
        SELECT to_char(to_timestamp(created_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model, key_id,
               count(*) AS requests,
               sum(prompt_tokens)::bigint AS prompt_tokens,
               sum(completion_tokens)::bigint AS completion_tokens,
               sum(billed_nano)::bigint AS billed_nano
        FROM generations
        WHERE owner_id = ${ownerId} AND created_at_ms >= ${fromMs}::bigint AND created_at_ms < ${toMs}::bigint
        GROUP BY 1, 2, 3 ORDER BY 1, model COLLATE "C", 3`
    )
    return rows.map((row): UsageRow => ({
      day: row.day,
      model: row.model,
      keyId: row.key_id,
      requests: row.requests,
      promptTokens: row.prompt_tokens,
      completionTokens: row.completion_tokens,
      billedNano: row.billed_nano
    }))
  })
