/**
 * Settles the expired reservations of dead processes in Postgres, in batches. Each batch is a
 * transaction under an advisory lock. Processes do not wait for the lock: one does the work, and
 * the others skip it. If that process hangs, the server ends its transaction within seconds, and
 * the next process takes over.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import { estimatedGeneration } from "./EstimatedGeneration.ts"
import type { ReserveResult } from "./Ledger.ts"
import { type LedgerEntry } from "./Entry.ts"
import { progressOf } from "./ProgressRow.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"
import { type StoreError } from "../StoreError.ts"

/** Expired reservations that are read and settled in one transaction. */
const BATCH = 200
/** The key of the advisory lock: the bytes of `tolr`. */
const LOCK_ID = 0x746f6c72
/** The server ends a transaction that is idle for longer while it has the lock. */
const IDLE_LIMIT_MS = 5_000

const ReservationRow = Schema.Struct({
  generationId: Schema.String,
  keyId: Schema.String,
  ownerId: Schema.NullOr(Schema.String),
  model: Schema.String,
  month: Schema.String,
  amountNano: Schema.Finite,
  extendedNano: Schema.Finite,
  createdAtMs: Schema.Finite,
  leaseUntilMs: Schema.Finite,
  progress: Schema.Unknown
})
const table = tableOf("reservations", ReservationRow)

interface Batch {
  readonly found: number
  readonly settled: number
}
const none: Batch = { found: 0, settled: 0 }

/** `writeGroup` writes within the caller's transaction. */
export const makeRecovery = (
  sql: PgClient.PgClient,
  writeGroup: (entries: ReadonlyArray<LedgerEntry>) => Effect.Effect<ReadonlyArray<ReserveResult>, StoreError>
) => {
  const columns = sql.literal(columnList(table.columns))

  const settleBatch = Effect.gen(function* () {
    const [turn] = yield* sql<{ readonly is_mine: boolean }>`
      SELECT pg_try_advisory_xact_lock(${LOCK_ID}::bigint) AS is_mine,
             set_config('idle_in_transaction_session_timeout', ${String(IDLE_LIMIT_MS)}, true)`
    if (turn?.is_mine !== true) return none
    const rows = yield* sql`SELECT ${columns} FROM reservations
      WHERE lease_until_ms <= ledger_now() ORDER BY lease_until_ms LIMIT ${BATCH}`
    const expired = yield* table.decode(rows)
    if (expired.length === 0) return none
    const results = yield* writeGroup(
      expired.map((one) => ({
        _tag: "Expire",
        generation: estimatedGeneration({ ...one, progress: progressOf(one.progress) }),
        month: one.month,
        leaseUntilMs: one.leaseUntilMs,
        amountNano: one.amountNano
      }))
    )
    return {
      found: expired.length,
      settled: results.filter((result) => result._tag === "Reserved").length
    } satisfies Batch
  })

  return Effect.gen(function* () {
    let total = 0
    while (true) {
      const { found, settled } = yield* guard(sql.withTransaction(settleBatch))
      total += settled
      if (found < BATCH) return total
    }
  }).pipe(Effect.withSpan("Ledger.settleExpired"))
}
