/**
 * Reads generations from Postgres, by id and in lists. The recent generations are read first, then
 * the archive if it may contain the result. In this order a row that moves in between is seen once
 * or twice, but never missed, because it leaves one table and enters the other at the same instant.
 */
import { type PgClient } from "@effect/sql-pg"
import { Clock, Effect, Option } from "effect"
import { decodeGenerations, generationColumns } from "./GenerationRow.ts"
import { matching, type Table } from "./GenerationFilters.ts"
import { type GenerationPage, type GenerationState, type GenerationStore, mostSorted } from "./GenerationStore.ts"
import { youngestArchived } from "./ArchiveSql.ts"
import { columnList } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"

interface Listed {
  readonly id: string
  readonly has_archive: boolean
}

interface Sorted {
  readonly id: string
  readonly value: number
  /** The rows that were sorted. */
  readonly matched: number
}

export const makeReads = (sql: PgClient.PgClient): Pick<GenerationStore["Service"], "find" | "list" | "top"> => {
  const columns = sql.literal(columnList(generationColumns))
  const mayBeArchived = (id: string) => Effect.map(Clock.currentTimeMillis, (nowMs) => id < youngestArchived(nowMs))

  const settledOf = (rows: ReadonlyArray<object>) =>
    Effect.map(decodeGenerations(rows), ([generation]) =>
      generation === undefined
        ? Option.none<GenerationState>()
        : Option.some<GenerationState>({ _tag: "Settled", generation })
    )

  return {
    find: Effect.fn("GenerationStore.find")(function* (id, keyId, ownerId = null) {
      const rows = yield* guard(
        sql<{ readonly id: string | null; readonly is_over: boolean | null }>`
          SELECT g.*, r.lease_until_ms <= ledger_now() AS is_over FROM (SELECT 1) AS one
          LEFT JOIN generations AS g ON g.id = ${id} AND g.key_id = coalesce(${keyId}::text, g.key_id)
            AND (${ownerId}::text IS NULL OR g.owner_id = ${ownerId}::text)
          LEFT JOIN reservations AS r ON r.generation_id = ${id} AND r.key_id = coalesce(${keyId}::text, r.key_id)
            AND (${ownerId}::text IS NULL OR r.owner_id = ${ownerId}::text)`
      )
      const settled = yield* settledOf(rows.filter((row) => row.id !== null))
      if (Option.isSome(settled)) return settled
      const isOver = rows[0]?.is_over ?? null
      if (isOver !== null) return Option.some<GenerationState>({ _tag: "Pending", isOver })
      if (!(yield* mayBeArchived(id))) return Option.none<GenerationState>()
      return yield* Effect.flatMap(
        guard(
          sql`SELECT ${columns} FROM generations_archive WHERE id = ${id} AND key_id = coalesce(${keyId}::text, key_id)
            AND (${ownerId}::text IS NULL OR owner_id = ${ownerId}::text)`
        ),
        settledOf
      )
    }),

    list: Effect.fn("GenerationStore.list")(function* (query) {
      const { limit } = query
      const recent = yield* guard(
        sql<Listed>`SELECT ${columns},
            EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'generations_archive'::regclass) AS has_archive
          FROM generations WHERE id IN (${matching(sql, "generations", query, limit + 1)})
          ORDER BY id DESC LIMIT ${limit + 1}`
      )
      // Of a full page, only rows between its first and last id can be missing.
      const last = recent[limit]
      const isComplete = recent[0]?.has_archive === false || (last !== undefined && !(yield* mayBeArchived(last.id)))
      const archived = isComplete
        ? []
        : yield* guard(
            sql<Listed>`SELECT ${columns} FROM generations_archive
              WHERE id IN (${matching(sql, "generations_archive", query, limit + 1)})
                ${last === undefined ? sql`` : sql`AND id > ${last.id}`}
              ORDER BY id DESC LIMIT ${limit + 1}`
          )
      const rows = archived.length === 0 ? recent : merged(recent, archived)
      const generations = yield* decodeGenerations(rows.slice(0, limit))
      return {
        generations,
        nextCursor: rows.length > limit ? (generations.at(-1)?.id ?? null) : null
      } satisfies GenerationPage
    }),

    top: Effect.fn("GenerationStore.top")(function* (query, by) {
      const value = sql.literal(by === "cost" ? "billed_nano" : "latency_ms")
      /** The rows are read by their ids: first the two columns that sort, then the rest of few. */
      const best = (table: Table, among: number) => {
        const name = sql.literal(table)
        return guard(
          sql<Sorted>`
            WITH found AS MATERIALIZED (${matching(sql, table, { ...query, cursor: null }, among)}),
            best AS (
              SELECT id, ${value}::float8 AS value, count(*) OVER () AS matched FROM ${name} JOIN found USING (id)
              ORDER BY ${value} DESC, id DESC LIMIT ${query.limit}
            )
            SELECT ${columns}, value, matched::int FROM best JOIN ${name} USING (id) ORDER BY value DESC, id DESC`
        )
      }
      const most = mostSorted(query)
      const recent = yield* best("generations", most)
      const left = most - (recent[0]?.matched ?? 0)
      const archived = left <= 0 ? [] : yield* best("generations_archive", left)
      const rows = [...new Map([...archived, ...recent].map((row) => [row.id, row])).values()]
      return yield* decodeGenerations(rows.sort((a, b) => b.value - a.value).slice(0, query.limit))
    })
  }
}

/** Each id once, in descending order. */
const merged = (recent: ReadonlyArray<Listed>, archived: ReadonlyArray<Listed>): ReadonlyArray<Listed> =>
  [...new Map([...archived, ...recent].map((row) => [row.id, row])).values()].sort((a, b) => (a.id < b.id ? 1 : -1))
