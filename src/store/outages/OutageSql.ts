/** Outages in the table `outages`: one statement per operation. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { idBound } from "../../domain/Ids.ts"
import { type Outage } from "../../domain/Outage.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"
import { storableJson } from "../sql/StorableJson.ts"
import { CONTINUED_MS, KEPT_MS, LONGEST_FLAPPING_MS, MOST_KEPT, OutageStore } from "./OutageStore.ts"

const Row = Schema.Struct({
  id: Schema.String,
  provider: Schema.String,
  model: Schema.NullOr(Schema.String),
  openedAtMs: Schema.Finite,
  closedAtMs: Schema.NullOr(Schema.Finite),
  closedBy: Schema.NullOr(Schema.Literals(["answer", "restart"])),
  openings: Schema.Finite,
  cause: Schema.NullOr(
    Schema.Struct({
      errorType: Schema.String,
      httpStatus: Schema.NullOr(Schema.Finite),
      message: Schema.NullOr(Schema.String)
    })
  ),
  process: Schema.String
})
const table = tableOf<Outage>("outages", Row)

const makeOutageSql = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(table.columns))

  return OutageStore.of({
    record: Effect.fn("OutageStore.record")(function* ({ closedAtMs, closedBy, model, opened, provider }) {
      const isOfCircuit = sql`provider = ${provider} AND model IS NOT DISTINCT FROM ${model}::text`
      if (opened === null) {
        yield* guard(
          sql`UPDATE outages SET closed_at_ms = ${closedAtMs}::bigint, closed_by = ${closedBy}::text
              WHERE ${isOfCircuit} AND closed_at_ms IS NULL`
        )
        return
      }
      const { atMs, openings, ...rest } = opened
      const added = storableJson([
        table.encode({ ...rest, provider, model, openedAtMs: atMs, closedAtMs, closedBy, openings })
      ])
      yield* guard(
        sql`WITH added AS (SELECT * FROM jsonb_populate_recordset(null::outages, ${added}::jsonb)),
            last AS (
              SELECT *, (closed_at_ms IS NULL OR closed_at_ms > ${atMs - CONTINUED_MS}::bigint)
                AND opened_at_ms > ${atMs - LONGEST_FLAPPING_MS}::bigint AS continues
              FROM outages WHERE ${isOfCircuit} ORDER BY id DESC LIMIT 1
            ), continued AS (
              UPDATE outages AS o SET closed_at_ms = added.closed_at_ms, closed_by = added.closed_by,
                openings = o.openings + added.openings, cause = added.cause, process = added.process
              FROM last, added WHERE o.id = last.id AND last.continues RETURNING 1
            ), ended AS (
              UPDATE outages AS o SET closed_at_ms = ${atMs}::bigint, closed_by = 'restart'
              FROM last WHERE o.id = last.id AND o.closed_at_ms IS NULL AND NOT last.continues
            )
            INSERT INTO outages (${columns}) SELECT ${columns} FROM added WHERE NOT EXISTS (SELECT FROM continued)`
      )
      yield* guard(
        sql`DELETE FROM outages WHERE id < ${idBound("out", atMs - KEPT_MS)} OR id IN (
              SELECT id FROM outages WHERE ${isOfCircuit} ORDER BY id DESC OFFSET ${MOST_KEPT}
            )`
      )
    }),

    latest: Effect.fn("OutageStore.latest")(function* (fromMs) {
      const rows = yield* guard(
        sql<{ readonly counted: number }>`
          SELECT DISTINCT ON (provider, model) ${columns},
            (coalesce(sum(openings) FILTER (WHERE opened_at_ms >= ${fromMs}::bigint)
              OVER (PARTITION BY provider, model), 0))::bigint AS counted
          FROM outages ORDER BY provider, model NULLS FIRST, id DESC`
      )
      const outages = yield* table.decode(rows)
      return outages.map((outage, at) => ({ outage, openings: rows[at]?.counted ?? 0 }))
    }),

    list: Effect.fn("OutageStore.list")(function* (provider, limit) {
      const rows = yield* guard(
        sql`SELECT ${columns} FROM outages WHERE provider = ${provider} ORDER BY id DESC LIMIT ${limit}`
      )
      return yield* table.decode(rows)
    })
  })
})

export const layer = Layer.effect(OutageStore, makeOutageSql)
