/**
 * Refusals in the table `refusals`: one statement per operation. Times become bounds of the ids,
 * which contain them, so that each list has an index in its order.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { idBound } from "../../domain/Ids.ts"
import { type Refusal } from "../../domain/Refusal.ts"
import { type Among } from "../Among.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"
import { storableJson } from "../sql/StorableJson.ts"
import { type RefusalGroup, type RefusalQuery, RefusalStore, type RefusalSum } from "./RefusalStore.ts"

const Row = Schema.Struct({
  id: Schema.String,
  requestId: Schema.String,
  createdAtMs: Schema.Finite,
  endpoint: Schema.NullOr(Schema.String),
  status: Schema.Finite,
  type: Schema.String,
  code: Schema.NullOr(Schema.String),
  message: Schema.String,
  keyId: Schema.NullOr(Schema.String),
  ownerId: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  count: Schema.Finite
})
const table = tableOf<Refusal>("refusals", Row)

const groups: Readonly<Record<RefusalGroup, string>> = {
  day: `to_char(DATE '1970-01-01' + (created_at_ms / 86400000)::integer, 'YYYY-MM-DD')`,
  model: `model COLLATE "C"`,
  key: "key_id",
  owner: "owner_id"
}

const makeRefusalSql = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(table.columns))

  const conditionsOf = (query: RefusalQuery) => [
    ...(query.cursor === null ? [] : [sql`id < ${query.cursor}`]),
    ...(query.keyId == null ? [] : [sql`key_id = ${query.keyId}`]),
    ...(query.ownerId === undefined ? [] : [sql`owner_id = ${query.ownerId}`]),
    ...(query.fromMs === undefined ? [] : [sql`id >= ${idBound("ref", query.fromMs)}`]),
    ...(query.toMs === undefined ? [] : [sql`id < ${idBound("ref", query.toMs)}`]),
    ...(query.model === undefined ? [] : [sql`model = ${query.model}`]),
    ...(query.status === undefined ? [] : [sql`status = ${query.status}`]),
    ...(query.type === undefined ? [] : [sql`type = ${query.type}`]),
    ...(query.id === undefined ? [] : [sql`id = ${query.id}`]),
    ...(query.requestId === undefined ? [] : [sql`request_id = ${query.requestId}`])
  ]

  /** The newest of each name, by the index of its column. */
  const foundAmong = ({ keyIds, models, ownerIds, requestIds }: Among, query: RefusalQuery) => {
    const conditions = conditionsOf(query)
    const parts = [
      ...models.map((one) => sql`model = ${one}`),
      ...keyIds.map((one) => sql`key_id = ${one}`),
      ...ownerIds.map((one) => sql`owner_id = ${one}`),
      ...requestIds.map((one) => sql`request_id = ${one}`)
    ].map(
      (one) =>
        sql`(SELECT id FROM refusals WHERE ${sql.and([one, ...conditions])} ORDER BY id DESC LIMIT ${query.limit})`
    )
    return parts.length === 0 ? sql`false` : sql`id IN (${sql.join(" UNION ", false)(parts)})`
  }

  return RefusalStore.of({
    add: Effect.fn("RefusalStore.add")((refusals) =>
      Effect.asVoid(
        guard(
          sql`INSERT INTO refusals (${columns})
              SELECT ${columns} FROM jsonb_populate_recordset(null::refusals, ${storableJson(refusals.map(table.encode))}::jsonb)
              ON CONFLICT (id) DO NOTHING`
        )
      )
    ),

    list: Effect.fn("RefusalStore.list")(function* (query) {
      const conditions = query.among === undefined ? conditionsOf(query) : [foundAmong(query.among, query)]
      const rows = yield* guard(
        sql`SELECT ${columns} FROM refusals WHERE ${sql.and(conditions)} ORDER BY id DESC LIMIT ${query.limit}`
      )
      return yield* table.decode(rows)
    }),

    series: Effect.fn("RefusalStore.series")(function* ({ bucketMs, fromMs, toMs }) {
      const rows = yield* guard(
        sql<{ readonly start_ms: number; readonly type: string; readonly count: number }>`
          SELECT created_at_ms / ${bucketMs}::bigint * ${bucketMs}::bigint AS start_ms, type, sum(count)::bigint AS count
          FROM refusals WHERE id >= ${idBound("ref", fromMs)} AND id < ${idBound("ref", toMs)}
          GROUP BY start_ms, type ORDER BY start_ms, type`
      )
      return rows.map(({ count, start_ms, type }) => ({ startMs: start_ms, type, count }))
    }),

    sums: Effect.fn("RefusalStore.sums")(function* ({ fromMs, groupBy, keyId, limit, model, ownerId, toMs }) {
      const group = groupBy === null ? "NULL::text" : groups[groupBy]
      const conditions = conditionsOf({
        limit,
        cursor: null,
        fromMs,
        toMs,
        ...(keyId == null ? {} : { keyId }),
        ...(ownerId == null ? {} : { ownerId }),
        ...(model == null ? {} : { model })
      })
      return yield* guard(
        sql<RefusalSum>`
          SELECT ${sql.literal(group)} AS "group", least(sum(count), 9007199254740991)::bigint AS count
          FROM refusals WHERE ${sql.and(conditions)} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${limit}`
      )
    }),

    deleteBefore: Effect.fn("RefusalStore.deleteBefore")(function* (beforeMs, limit) {
      const rows = yield* guard(
        sql`DELETE FROM refusals WHERE id = ANY(ARRAY(
              SELECT id FROM refusals WHERE id < ${idBound("ref", beforeMs)} ORDER BY id LIMIT ${limit}
            )) RETURNING 1`
      )
      return rows.length
    })
  })
})

export const layer = Layer.effect(RefusalStore, makeRefusalSql)
