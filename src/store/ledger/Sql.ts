/**
 * The ledger in Postgres. Reserve, extend, settle, replay and void are written in groups
 * (sql/WriteBatcher.ts). Each group is one call of `ledger_write` (migrations/0001): one round
 * trip, one transaction. A group of one entry is first tried with a cheaper function, which decides
 * the common case (migrations/0007). Concurrent processes are serialised by the row lock of a key
 * and month's counter, never by the result of an earlier statement.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer } from "effect"
import { type SqlError } from "effect/sql/SqlError"
import { makeWriteBatcher } from "../sql/WriteBatcher.ts"
import { type Balance, Ledger, type ReserveResult } from "./Ledger.ts"
import { GenerationStore } from "./GenerationStore.ts"
import { makeGenerationStore } from "./GenerationStoreSql.ts"
import { LedgerReports } from "./reports/LedgerReports.ts"
import { makeLedgerReports } from "./reports/LedgerReportsSql.ts"
import { withoutArchived } from "./ArchivedSql.ts"
import { groupParameters, idOf, type LedgerEntry, reservationValues } from "./Entry.ts"
import { generationValues } from "./GenerationRow.ts"
import { makeRecovery } from "./RecoverySql.ts"
import { progressValue } from "./ProgressRow.ts"
import { guard, mapSqlErrors, outOfTime, STATEMENT_LIMIT } from "../sql/SqlErrors.ts"
import { storableNano } from "./StorableGeneration.ts"
import { storableJson } from "../sql/StorableJson.ts"

/** The most entries of a group. */
const GROUP_SIZE = 256
/** The most groups written at once. The embedded database runs one statement at a time. */
const POSTGRES_CONCURRENCY = 2

/** An entry that was refused. Without a balance, its reservation has changed since it was read. */
interface Refusal {
  readonly refused: string
  readonly spent_nano: number | null
  readonly reserved_nano: number | null
}

interface Done {
  readonly done: boolean
}

const reserved: ReserveResult = { _tag: "Reserved" }

const oneReserved = Effect.succeed([reserved])

const RESERVE_ONE = "SELECT ledger_reserve_one($1::jsonb) AS done"
const SETTLE_ONE = "SELECT ledger_settle_one($1::jsonb, $2::bigint, $3::bigint) AS done"

const isUniqueViolation = ({ reason }: SqlError): boolean => reason._tag === "UniqueViolation"

const settlementOf = ({ generation, month }: Extract<LedgerEntry, { readonly _tag: "Settle" | "Replay" }>): string =>
  storableJson(generationValues(generation, month))

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const isEmbedded = sql.config.stream !== undefined

  /**
   * The common write of one entry. Null, and a row without `done`: `ledger_write` has to decide.
   */
  const common = (entry: LedgerEntry) => {
    switch (entry._tag) {
      case "Reserve":
        return sql.unsafe<Done>(RESERVE_ONE, [storableJson(reservationValues(entry.reservation))])
      case "Settle":
        return sql.unsafe<Done>(SETTLE_ONE, [settlementOf(entry), null, null])
      case "Replay":
        return sql.unsafe<Done>(SETTLE_ONE, [
          settlementOf(entry),
          String(storableNano(entry.amountNano)),
          String(entry.capNano)
        ])
      default:
        return null
    }
  }

  const writeOne = (entry: LedgerEntry, entries: ReadonlyArray<LedgerEntry>) => {
    const statement = common(entry)
    if (statement === null) return writeEntries(entries)
    return Effect.matchEffect(statement, {
      onSuccess: ([row]) => (row?.done === true ? oneReserved : writeEntries(entries)),
      onFailure: (error) => (isUniqueViolation(error) ? writeEntries(entries) : Effect.fail(error))
    })
  }

  const writeEntries = Effect.fnUntraced(function* (entries: ReadonlyArray<LedgerEntry>) {
    const { settled, voided, asked, checked } = groupParameters(entries)
    const statement = sql<Refusal>`
        SELECT * FROM ledger_write(${settled}::jsonb, ${voided}::text[], ${asked}::jsonb, ${checked}::jsonb)`
    // Two keys may reserve one id at the same time. The later one fails, and finds the entry on
    // retry.
    const refusals = yield* Effect.catchIf(statement, isUniqueViolation, () => statement)
    if (refusals.length === 0) return entries.map(() => reserved)
    const results = new Map(
      refusals.map(({ refused, reserved_nano, spent_nano }): [string, ReserveResult] => [
        refused,
        { _tag: "Refused", balance: { spentNano: spent_nano ?? 0, reservedNano: reserved_nano ?? 0 } }
      ])
    )
    const missing = entries.flatMap((entry) => (entry._tag === "Void" && results.has(entry.id) ? [entry.id] : []))
    // Recovery may have settled them as estimates.
    if (missing.length > 0) yield* sql`SELECT ledger_undo(${missing}::text[])`
    return entries.map((entry) => results.get(idOf(entry)) ?? reserved)
  })
  /** Writes all entries or none. The results are in the order of the entries. */
  const writeGroup = withoutArchived(sql, (entries) => {
    const [first] = entries
    return mapSqlErrors(first !== undefined && entries.length === 1 ? writeOne(first, entries) : writeEntries(entries))
  })
  const { lagMs, write } = yield* makeWriteBatcher({
    writeGroup,
    concurrency: isEmbedded ? 1 : POSTGRES_CONCURRENCY,
    groupSize: GROUP_SIZE,
    limitMs: Duration.toMillis(STATEMENT_LIMIT),
    outOfTime
  })

  const balances = Effect.fn("Ledger.balances")(function* (keyIds: ReadonlyArray<string>, month: string) {
    const rows = yield* guard(
      sql<{ readonly key_id: string; readonly spent_nano: number; readonly reserved_nano: number }>`
        SELECT key_id, spent_nano, reserved_nano FROM budget_counters WHERE month = ${month} AND key_id = ANY(${keyIds}::text[])`
    )
    const found = new Map<string, Balance>(keyIds.map((id) => [id, { spentNano: 0, reservedNano: 0 }]))
    for (const row of rows) found.set(row.key_id, { spentNano: row.spent_nano, reservedNano: row.reserved_nano })
    return found
  })

  const ledger = Ledger.of({
    balances,

    // Every request calls these, so they have no spans of their own.
    reserve: (reservation) => write(reservation.generationId, { _tag: "Reserve", reservation }),

    extend: (id, amountNano, capNano) => write(id, { _tag: "Extend", id, amountNano, capNano }),

    settle: (generation, month) => Effect.asVoid(write(generation.id, { _tag: "Settle", generation, month })),

    replay: (generation, month, amountNano, capNano) =>
      write(
        generation.id,
        capNano === null
          ? { _tag: "Settle", generation, month }
          : { _tag: "Replay", generation, month, amountNano, capNano }
      ),

    void: (id) => Effect.asVoid(write(id, { _tag: "Void", id })),

    renew: (running, leaseMs) => {
      const named = running.map(({ generationId, progress }) => [generationId, progressValue(progress)])
      return Effect.asVoid(guard(sql`SELECT ledger_beat(${storableJson(named)}::jsonb, ${leaseMs}::bigint)`))
    },

    settleExpired: makeRecovery(sql, writeGroup),

    // A client of a full server must not be the first to find out that the disk is full.
    ping: Effect.asVoid(guard(sql`SELECT health_write(${isEmbedded})`))
  })

  // `lagMs`: the age of the oldest entry of this process that is not written yet.
  return { ledger, lagMs }
})

/** The ledger, its generations and its reports. */
export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const { lagMs, ledger } = yield* make
    return Context.make(Ledger, ledger).pipe(
      Context.add(GenerationStore, makeGenerationStore(sql)),
      Context.add(LedgerReports, makeLedgerReports(sql, lagMs))
    )
  })
)
