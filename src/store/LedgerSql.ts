/**
 * The ledger in Postgres. Reserve, settle and void are one statement each, and correct without a transaction around them: what
 * several of them want at once is decided by row locks, taken in one order (reservation, generation, counter), never by what an
 * earlier statement has seen.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Option, Schema } from "effect"
import { type Generation } from "../domain/Generation.ts"
import { estimatedGeneration } from "./EstimatedGeneration.ts"
import { decodeGenerations, encodeGeneration, generationColumns } from "./GenerationRow.ts"
import type { Balance, GenerationState, Ledger, ReserveResult } from "./Ledger.ts"
import { makeOverview } from "./LedgerOverviewSql.ts"
import { columnList, tableOf } from "./Rows.ts"
import { guard } from "./SqlFault.ts"

/** How many expired reservations are read at once. */
const EXPIRED_BATCH = 200

const ReservationRow = Schema.Struct({
  generationId: Schema.String,
  keyId: Schema.String,
  ownerId: Schema.NullOr(Schema.String),
  model: Schema.String,
  month: Schema.String,
  amountNano: Schema.Number,
  createdAtMs: Schema.Number,
  leaseUntilMs: Schema.Number,
  processId: Schema.String
})
const reservationTable = tableOf("reservations", ReservationRow)

const allButMonth = generationColumns.filter((column) => column !== "month")

export const makeLedgerSql: Effect.Effect<Ledger["Service"], never, PgClient.PgClient> = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(generationColumns))
  const otherColumns = sql.literal(columnList(allButMonth))
  const otherValues = sql.literal(columnList(allButMonth, "given"))
  const reservationColumns = sql.literal(columnList(reservationTable.columns))
  const reserved: ReserveResult = { _tag: "Reserved" }

  const balances = Effect.fn("Ledger.balances")(function* (keyIds: ReadonlyArray<string>, month: string) {
    const rows = yield* guard(
      sql<{ readonly key_id: string; readonly spent_nano: number; readonly reserved_nano: number }>`
        SELECT key_id, spent_nano, reserved_nano FROM budget_counters WHERE month = ${month} AND key_id = ANY(${keyIds}::text[])`
    )
    const found = new Map<string, Balance>(keyIds.map((id) => [id, { spentNano: 0, reservedNano: 0 }]))
    for (const row of rows) found.set(row.key_id, { spentNano: row.spent_nano, reservedNano: row.reserved_nano })
    return found
  })

  /**
   * Stores a generation and charges it in place of its reservation. Whoever deletes the reservation releases it, whoever inserts
   * the generation charges it. `onlyReserved` leaves out one that is not reserved (any more); answers whether it was stored.
   */
  const store = (generation: Generation, month: string, onlyReserved: boolean) =>
    guard(
      sql<{ readonly stored: boolean }>`
        WITH released AS (
          DELETE FROM reservations WHERE generation_id = ${generation.id} AND key_id = ${generation.keyId}
          RETURNING key_id, month, amount_nano
        ), stored AS (
          INSERT INTO generations (month, ${otherColumns})
          SELECT coalesce(released.month, given.month), ${otherValues}
          FROM jsonb_populate_record(null::generations, ${sql.json(encodeGeneration(generation, month))}) AS given
          LEFT JOIN released ON true
          WHERE released.key_id IS NOT NULL OR NOT ${onlyReserved}::boolean
          ON CONFLICT (id) DO NOTHING
          RETURNING key_id, month, billed_nano
        ), replaced AS (
          UPDATE budget_counters AS c
          SET reserved_nano = c.reserved_nano - released.amount_nano,
              spent_nano = c.spent_nano + coalesce(stored.billed_nano, 0)
          FROM released LEFT JOIN stored ON true
          WHERE c.key_id = released.key_id AND c.month = released.month
        ), added AS (
          INSERT INTO budget_counters AS c (key_id, month, spent_nano, reserved_nano)
          SELECT stored.key_id, stored.month, stored.billed_nano, 0
          FROM stored LEFT JOIN released ON true WHERE released.key_id IS NULL
          ON CONFLICT (key_id, month) DO UPDATE SET spent_nano = c.spent_nano + excluded.spent_nano
        )
        SELECT EXISTS (SELECT FROM stored) AS stored`
    ).pipe(Effect.map((rows) => rows[0]?.stored === true))

  const settleBatch = Effect.fnUntraced(function* (nowMs: number) {
    const rows = yield* guard(
      sql`SELECT ${reservationColumns} FROM reservations
          WHERE lease_until_ms <= ${nowMs}::bigint ORDER BY lease_until_ms LIMIT ${EXPIRED_BATCH}`
    )
    const expired = yield* reservationTable.decode(rows)
    const settled = yield* Effect.forEach(expired, (one) => store(estimatedGeneration(one), one.month, true))
    return { found: expired.length, settled: settled.filter(Boolean).length }
  })

  return {
    balances,

    reserve: Effect.fn("Ledger.reserve")(function* (r) {
      const tryReserve = sql<{ readonly granted: boolean }>`
        WITH known AS (
          SELECT FROM reservations WHERE generation_id = ${r.generationId}
          UNION ALL SELECT FROM generations WHERE id = ${r.generationId}
        ), held AS (
          INSERT INTO budget_counters AS c (key_id, month, spent_nano, reserved_nano)
          SELECT ${r.keyId}, ${r.month}, 0, ${r.amountNano}::bigint
          WHERE NOT EXISTS (SELECT FROM known) AND (${r.capNano}::bigint IS NULL OR ${r.amountNano}::bigint <= ${r.capNano}::bigint)
          ON CONFLICT (key_id, month) DO UPDATE SET reserved_nano = c.reserved_nano + excluded.reserved_nano
            WHERE ${r.capNano}::bigint IS NULL OR c.spent_nano + c.reserved_nano + excluded.reserved_nano <= ${r.capNano}::bigint
          RETURNING 1
        ), entered AS (
          INSERT INTO reservations (${reservationColumns})
          SELECT ${r.generationId}, ${r.keyId}, ${r.ownerId}, ${r.model}, ${r.month}, ${r.amountNano}::bigint,
                 ${r.createdAtMs}::bigint, ${r.leaseUntilMs}::bigint, ${r.processId}
          FROM held RETURNING 1
        )
        SELECT EXISTS (SELECT FROM known) OR EXISTS (SELECT FROM entered) AS granted`
      const rows = yield* guard(
        // Two calls with one id at the same moment: the later one fails on the entry, and finds it when it looks again.
        Effect.catchIf(
          tryReserve,
          (error) => error.reason._tag === "UniqueViolation",
          () => tryReserve
        )
      )
      if (rows[0]?.granted === true) return reserved
      const now = yield* balances([r.keyId], r.month)
      return { _tag: "Refused", balance: now.get(r.keyId) ?? { spentNano: 0, reservedNano: 0 } }
    }),

    settle: Effect.fn("Ledger.settle")((generation, month) => Effect.asVoid(store(generation, month, false))),

    void: Effect.fn("Ledger.void")((generationId) =>
      Effect.asVoid(
        guard(
          sql`WITH released AS (
                DELETE FROM reservations WHERE generation_id = ${generationId} RETURNING key_id, month, amount_nano
              )
              UPDATE budget_counters AS c SET reserved_nano = c.reserved_nano - released.amount_nano
              FROM released WHERE c.key_id = released.key_id AND c.month = released.month`
        )
      )
    ),

    find: Effect.fn("Ledger.find")(function* (id, keyId) {
      const rows = yield* guard(
        sql<{ readonly id: string | null; readonly lease_until_ms: number | null }>`
          SELECT g.*, r.lease_until_ms FROM (SELECT 1) AS one
          LEFT JOIN generations AS g ON g.id = ${id} AND g.key_id = ${keyId}
          LEFT JOIN reservations AS r ON r.generation_id = ${id} AND r.key_id = ${keyId}`
      )
      const settled = yield* decodeGenerations(rows.filter((row) => row.id !== null))
      if (settled[0] !== undefined) {
        return Option.some<GenerationState>({ _tag: "Settled", generation: settled[0] })
      }
      const leaseUntilMs = rows[0]?.lease_until_ms ?? null
      return leaseUntilMs === null ? Option.none() : Option.some<GenerationState>({ _tag: "Pending", leaseUntilMs })
    }),

    list: Effect.fn("Ledger.list")(function* ({ keyId, limit, cursor, fromMs = null, toMs = null, model = null }) {
      const rows = yield* guard(
        sql`SELECT ${columns} FROM generations
            WHERE key_id = ${keyId}
              AND (${cursor}::text IS NULL OR id < ${cursor}::text)
              AND (${fromMs}::bigint IS NULL OR created_at_ms >= ${fromMs}::bigint)
              AND (${toMs}::bigint IS NULL OR created_at_ms < ${toMs}::bigint)
              AND (${model}::text IS NULL OR model = ${model}::text)
            ORDER BY id DESC LIMIT ${limit + 1}`
      )
      const generations = yield* decodeGenerations(rows.slice(0, limit))
      return { generations, nextCursor: rows.length > limit ? (generations.at(-1)?.id ?? null) : null }
    }),

    overview: makeOverview(sql),

    settleExpired: Effect.fn("Ledger.settleExpired")(function* (nowMs) {
      let total = 0
      while (true) {
        const { found, settled } = yield* settleBatch(nowMs)
        total += settled
        if (found < EXPIRED_BATCH) return total
      }
    }),

    ping: Effect.asVoid(guard(sql`SELECT 1`))
  }
})
