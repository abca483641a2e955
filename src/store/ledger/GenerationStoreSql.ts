/**
 * The generations of the ledger in Postgres: read, archived and deleted. `ledger_write` writes
 * them.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { idBound } from "../../domain/Ids.ts"
import { guard } from "../sql/SqlErrors.ts"
import { makeArchive } from "./ArchiveSql.ts"
import type { GenerationStore } from "./GenerationStore.ts"
import { makeReads } from "./ReadSql.ts"

export const makeGenerationStore = (sql: PgClient.PgClient): GenerationStore["Service"] => ({
  ...makeReads(sql),

  deleteBefore: Effect.fn("GenerationStore.deleteBefore")(function* (beforeMs, limit) {
    yield* guard(
      sql`DELETE FROM attempted_providers WHERE (provider, id) IN (
            SELECT provider, id FROM attempted_providers WHERE id < ${idBound("gen", beforeMs)}
            ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED
          )`
    )
    const rows = yield* guard(
      sql`DELETE FROM generations WHERE id = ANY(ARRAY(
              SELECT id FROM generations WHERE created_at_ms < ${beforeMs}::bigint
              ORDER BY created_at_ms LIMIT ${limit} FOR UPDATE SKIP LOCKED
            )) RETURNING 1`
    )
    return rows.length
  }),

  ...makeArchive(sql)
})
