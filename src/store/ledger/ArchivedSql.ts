/**
 * Handles ledger entries whose generation is already archived. An archived generation is settled: a
 * late settlement or reservation of its id changes nothing, and an extension of it is refused. Only
 * groups with an id old enough to be archived are checked. All others go straight to the database.
 */
import { type PgClient } from "@effect/sql-pg"
import { Clock, Effect } from "effect"
import type { ReserveResult } from "./Ledger.ts"
import { ARCHIVE_LOCK_ID, youngestArchived } from "./ArchiveSql.ts"
import { idOf, type LedgerEntry } from "./Entry.ts"
import { guard } from "../sql/SqlErrors.ts"
import { type StoreError } from "../StoreError.ts"

interface Archived {
  readonly id: string
  readonly spent_nano: number
  readonly reserved_nano: number
}

type WriteGroup = (entries: ReadonlyArray<LedgerEntry>) => Effect.Effect<ReadonlyArray<ReserveResult>, StoreError>

/** Wraps `write` so that it never receives entries of archived generations. */
export const withoutArchived = (sql: PgClient.PgClient, write: WriteGroup): WriteGroup => {
  const writeOld = Effect.fnUntraced(function* (entries: ReadonlyArray<LedgerEntry>) {
    // Blocks the archiving of generations until the end of this transaction.
    yield* sql`SELECT 1 FROM (SELECT pg_advisory_xact_lock_shared(${ARCHIVE_LOCK_ID}::bigint)) AS locked`
    const rows = yield* sql<Archived>`
      SELECT a.id, coalesce(c.spent_nano, 0)::bigint AS spent_nano, coalesce(c.reserved_nano, 0)::bigint AS reserved_nano
      FROM generations_archive AS a LEFT JOIN budget_counters AS c ON c.key_id = a.key_id AND c.month = a.month
      WHERE a.id = ANY(${entries.map(idOf)}::text[])`
    if (rows.length === 0) return yield* write(entries)
    const archived = new Map(rows.map((row) => [row.id, row]))
    const others = entries.filter((entry) => !archived.has(idOf(entry)))
    const written = others.length === 0 ? [] : yield* write(others)
    const results = new Map(others.map((entry, at) => [idOf(entry), written[at]]))
    return entries.map((entry): ReserveResult => {
      const row = archived.get(idOf(entry))
      if (row === undefined || entry._tag !== "Extend") return results.get(idOf(entry)) ?? { _tag: "Reserved" }
      return { _tag: "Refused", balance: { spentNano: row.spent_nano, reservedNano: row.reserved_nano } }
    })
  })

  return (entries) =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      const bound = youngestArchived(nowMs)
      return entries.some((entry) => idOf(entry) < bound)
        ? guard(sql.withTransaction(writeOld(entries)))
        : write(entries)
    })
}
