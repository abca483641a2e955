/**
 * The archive of old generations in Postgres: a table with a partition per UTC month, which is
 * created when it is first needed. Rows move in small batches. One statement deletes a row from one
 * table and inserts it into the other, so a reader of both sees it once. A month is deleted as a
 * whole. One process at a time works on the archive, under an advisory lock. It waits neither for
 * this lock nor for locks on tables: if one is taken, the next run continues.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { type SqlError } from "effect/sql/SqlError"
import { idBound, idTimeMs } from "../../domain/Ids.ts"
import { DAY_MS, monthEndMs, monthOf, monthStartMs } from "../../domain/pricing/Money.ts"
import { generationColumns } from "./GenerationRow.ts"
import { columnList } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"

/** The key of the advisory lock: the bytes of `tola`. */
export const ARCHIVE_LOCK_ID = 0x746f6c61
/** The server ends a transaction that is idle for longer while it has the lock. */
const IDLE_LIMIT_MS = 5_000

/**
 * All archived ids are below this one. The settings archive nothing younger than two days; one day
 * is left for differences of clocks.
 */
export const youngestArchived = (nowMs: number): string => idBound("gen", nowMs - DAY_MS)

const partitionOf = (month: string): string => `generations_${month.replace("-", "_")}`
const monthOfPartition = (name: string): string => name.slice("generations_".length).replace("_", "-")

export const makeArchive = (sql: PgClient.PgClient) => {
  const columns = sql.literal(columnList(generationColumns))

  /**
   * Runs `work` in a transaction. Returns `otherwise` while another process has the advisory lock,
   * or when a table or row is locked.
   */
  const inTurn = <A, B>(work: Effect.Effect<A, SqlError>, otherwise: B) =>
    sql
      .withTransaction(
        Effect.flatMap(
          sql<{ readonly is_mine: boolean }>`
            SELECT pg_try_advisory_xact_lock(${ARCHIVE_LOCK_ID}::bigint) AS is_mine,
                   set_config('idle_in_transaction_session_timeout', ${String(IDLE_LIMIT_MS)}, true)`,
          ([turn]): Effect.Effect<A | B, SqlError> => (turn?.is_mine === true ? work : Effect.succeed(otherwise))
        )
      )
      .pipe(
        Effect.catchIf(
          (error) => error.reason._tag === "LockTimeoutError",
          () => Effect.succeed(otherwise)
        )
      )

  /** The months that have partitions, oldest first. */
  const months = Effect.map(
    sql<{
      readonly name: string
    }>`SELECT c.relname::text AS name FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'generations_archive'::regclass ORDER BY name`,
    (rows) => rows.map(({ name }) => monthOfPartition(name))
  )

  /**
   * Creates the table separately and attaches it, because that takes no lock that would block
   * readers or writers of the archive.
   */
  const makePartition = Effect.fnUntraced(function* (month: string) {
    const name = sql.literal(partitionOf(month))
    const from = sql.literal(`'${idBound("gen", monthStartMs(month))}'`)
    const to = sql.literal(`'${idBound("gen", monthEndMs(monthStartMs(month)))}'`)
    yield* sql`LOCK TABLE ONLY generations_archive IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`
    yield* sql`CREATE TABLE ${name} (LIKE generations_archive INCLUDING ALL)`
    yield* sql`ALTER TABLE generations_archive ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${to})`
  })

  const movePiece = Effect.fnUntraced(function* (month: string, beforeMs: number, limit: number) {
    const there = yield* months
    // Includes the month after the youngest one, so that its partition exists before a row of it
    // moves.
    const needed = new Set([month, monthOf(monthEndMs(beforeMs))])
    for (const one of needed) if (!there.includes(one)) yield* makePartition(one)
    const before = idBound("gen", Math.min(beforeMs, monthEndMs(monthStartMs(month))))
    const rows = yield* sql`
      WITH moved AS (
        DELETE FROM generations WHERE id = ANY(ARRAY(
          SELECT id FROM generations WHERE id >= ${idBound("gen", monthStartMs(month))} AND id < ${before}
          ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED
        )) RETURNING ${columns}
      )
      INSERT INTO generations_archive (${columns}) SELECT ${columns} FROM moved RETURNING 1`
    return rows.length
  })

  return {
    archive: Effect.fn("GenerationStore.archive")(function* (beforeMs: number, limit: number) {
      let [moved, fromMs] = [0, 0]
      while (moved < limit) {
        const [oldest] = yield* guard(
          sql<{ readonly id: string }>`SELECT id FROM generations
            WHERE id >= ${idBound("gen", fromMs)} AND id < ${idBound("gen", beforeMs)} ORDER BY id LIMIT 1`
        )
        if (oldest === undefined) break
        const bornMs = idTimeMs(oldest.id)
        const count = yield* guard(inTurn(movePiece(monthOf(bornMs), beforeMs, limit - moved), null))
        if (count === null) break
        moved += count
        // The remaining rows of this month are locked by others.
        fromMs = monthEndMs(bornMs)
      }
      return moved
    }),

    deleteArchivedBefore: Effect.fn("GenerationStore.deleteArchivedBefore")(function* (beforeMs: number) {
      const over = Effect.map(months, (all) => all.filter((month) => monthEndMs(monthStartMs(month)) <= beforeMs))
      const dropOldest = Effect.gen(function* () {
        const [oldest] = yield* over
        if (oldest === undefined) return false
        const name = sql.literal(partitionOf(oldest))
        yield* sql`LOCK TABLE ONLY generations_archive, ONLY ${name} IN ACCESS EXCLUSIVE MODE NOWAIT`
        yield* sql`DROP TABLE ${name}`
        return true
      })
      // Checks before taking the lock, so that a process without work does not block another.
      while ((yield* guard(over)).length > 0) if ((yield* guard(inTurn(dropOldest, null))) === null) break
    })
  }
}
