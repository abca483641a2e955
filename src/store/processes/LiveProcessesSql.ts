/**
 * Live processes in the table `live_processes`. Times are those of the database's clock, so the
 * processes' clocks need not agree.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Option, Layer } from "effect"
import { LIFE_MS, LiveProcesses, type ProcessEntry, type Rival } from "./LiveProcesses.ts"
import { guard } from "../sql/SqlErrors.ts"

export const makeLiveProcessesSql = (
  lifeMs: number
): Effect.Effect<LiveProcesses["Service"], never, PgClient.PgClient> =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient

    const rivalOf = ({ id, sharesLimits }: ProcessEntry) =>
      sharesLimits
        ? Effect.succeedNone
        : Effect.map(
            sql<Rival>`SELECT host, pid, started_at_ms AS "startedAtMs" FROM live_processes
                       WHERE id <> ${id} AND heartbeat_at_ms > ledger_now() - ${lifeMs}::bigint
                       ORDER BY started_at_ms, id LIMIT 1`,
            ([rival]) => Option.fromUndefinedOr(rival)
          )

    const put = ({ host, id, pid, sharesLimits }: ProcessEntry) =>
      sql`INSERT INTO live_processes (id, host, pid, shares_limits)
          VALUES (${id}, ${host}, ${pid}::bigint, ${sharesLimits})
          ON CONFLICT (id) DO UPDATE SET heartbeat_at_ms = ledger_now()`

    return {
      enter: (entry) =>
        guard(
          sql.withTransaction(
            Effect.gen(function* () {
              // Of two processes that enter at once, the second sees the first.
              yield* sql`LOCK TABLE live_processes IN SHARE ROW EXCLUSIVE MODE`
              yield* sql`DELETE FROM live_processes WHERE heartbeat_at_ms <= ledger_now() - ${lifeMs}::bigint`
              const rival = yield* rivalOf(entry)
              if (Option.isNone(rival)) yield* put(entry)
              return rival
            })
          )
        ),

      renew: (entry) => guard(Effect.andThen(put(entry), rivalOf(entry))),

      leave: (id) => Effect.asVoid(guard(sql`DELETE FROM live_processes WHERE id = ${id}`))
    }
  })

export const layer = Layer.effect(LiveProcesses, makeLiveProcessesSql(LIFE_MS))
