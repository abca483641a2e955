/** An independent audit of a ledger: finds counters that differ from the sum of their entries. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"

export class Audit extends Context.Service<
  Audit,
  {
    /**
     * One row per key and month, or day, whose sums differ from those of its generations and
     * reservations.
     */
    readonly differences: Effect.Effect<ReadonlyArray<unknown>>
  }
>()("test/store/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.map(PgClient.PgClient, (sql) => ({
      differences: Effect.orDie(
        sql`WITH all_generations AS (
              SELECT * FROM generations UNION ALL SELECT * FROM generations_archive
            ), entries AS (
              SELECT key_id, month, sum(billed_nano)::bigint AS spent, 0::bigint AS reserved FROM all_generations GROUP BY 1, 2
              UNION ALL
              SELECT key_id, month, 0, sum(amount_nano)::bigint FROM reservations GROUP BY 1, 2
            ), sums AS (
              SELECT key_id, month, sum(spent)::bigint AS spent, sum(reserved)::bigint AS reserved FROM entries GROUP BY 1, 2
            )
            SELECT key_id, month, c.spent_nano, s.spent, c.reserved_nano, s.reserved
            FROM budget_counters AS c FULL JOIN sums AS s USING (key_id, month)
            WHERE coalesce(c.spent_nano, 0) <> coalesce(s.spent, 0) OR coalesce(c.reserved_nano, 0) <> coalesce(s.reserved, 0)
            UNION ALL
            SELECT key_id, day::text, u.billed_nano, g.billed, u.requests, g.requests
            FROM usage_days AS u FULL JOIN (
              SELECT key_id, created_at_ms / 86400000 AS day, model, provider, sum(billed_nano)::bigint AS billed,
                count(*) AS requests, sum(prompt_tokens + completion_tokens)::bigint AS tokens
              FROM all_generations GROUP BY 1, 2, 3, 4
            ) AS g USING (key_id, day, model, provider)
            WHERE u.billed_nano IS DISTINCT FROM g.billed OR u.requests IS DISTINCT FROM g.requests
              OR u.prompt_tokens + u.completion_tokens IS DISTINCT FROM g.tokens`
      )
    }))
  )

  /** The ledger in memory has no second source to compare. The tests assert its balances. */
  static readonly layerNone = Layer.succeed(Audit, { differences: Effect.succeed([]) })
}
