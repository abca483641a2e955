/**
 * The audit trail in the table `audit_events`: one statement per operation. Times become bounds of
 * the ids, which contain them. A filter that few events match is answered by its index.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { actorKinds, auditActions, type AuditEvent, auditOutcomes } from "../../domain/Audit.ts"
import { idBound } from "../../domain/Ids.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"
import { storableJson } from "../sql/StorableJson.ts"
import { type AuditQuery, AuditStore } from "./AuditStore.ts"

const Row = Schema.Struct({
  id: Schema.String,
  createdAtMs: Schema.Finite,
  action: Schema.Literals(auditActions),
  outcome: Schema.Literals(auditOutcomes),
  actor: Schema.Literals(actorKinds),
  actorId: Schema.NullOr(Schema.String),
  address: Schema.NullOr(Schema.String),
  requestId: Schema.NullOr(Schema.String),
  target: Schema.NullOr(Schema.String),
  details: Schema.Record(Schema.String, Schema.Unknown),
  count: Schema.Finite
})
const table = tableOf<AuditEvent>("audit_events", Row)

const ofTarget = ["target", "details->>'user'"]
const anywhere = [...ofTarget, "actor_id", "address", "request_id"]

const makeAuditSql = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(table.columns))

  const conditionsOf = (query: AuditQuery) => [
    ...(query.cursor === null ? [] : [sql`id < ${query.cursor}`]),
    ...(query.action === undefined ? [] : [sql`action = ${query.action}`]),
    ...(query.outcome === undefined ? [] : [sql`outcome = ${query.outcome}`]),
    ...(query.actor === undefined ? [] : [sql`actor = ${query.actor}`]),
    ...(query.actorId === undefined ? [] : [sql`actor_id = ${query.actorId}`]),
    ...(query.target === undefined
      ? []
      : [sql.or(ofTarget.map((place) => sql`${sql.literal(place)} = ${query.target}`))]),
    ...(query.address === undefined ? [] : [sql`address = ${query.address}`]),
    ...(query.requestId === undefined ? [] : [sql`request_id = ${query.requestId}`]),
    ...(query.id === undefined ? [] : [sql`id = ${query.id}`]),
    ...(query.fromMs === undefined ? [] : [sql`id >= ${idBound("aud", query.fromMs)}`]),
    ...(query.toMs === undefined ? [] : [sql`id < ${idBound("aud", query.toMs)}`])
  ]

  /** The newest that have one of the texts in a column or expression, each by its own index. */
  const foundIn = (places: ReadonlyArray<string>, texts: ReadonlyArray<string>, query: AuditQuery) => {
    const conditions = conditionsOf(query)
    const parts = texts.flatMap((text) =>
      places.map(
        (place) =>
          sql`(SELECT id FROM audit_events WHERE ${sql.and([sql`${sql.literal(place)} = ${text}`, ...conditions])}
               ORDER BY id DESC LIMIT ${query.limit})`
      )
    )
    return parts.length === 0 ? sql`false` : sql`id IN (${sql.join(" UNION ", false)(parts)})`
  }

  return AuditStore.of({
    add: Effect.fn("AuditStore.add")((events) =>
      Effect.asVoid(
        guard(
          sql`INSERT INTO audit_events (${columns})
              SELECT ${columns} FROM jsonb_populate_recordset(null::audit_events, ${storableJson(events.map(table.encode))}::jsonb)
              ON CONFLICT (id) DO NOTHING`
        )
      )
    ),

    list: Effect.fn("AuditStore.list")(function* (query) {
      const { target, ...rest } = query
      const { about } = query
      const conditions =
        about !== undefined
          ? [foundIn(anywhere, about, query)]
          : target !== undefined
            ? [foundIn(ofTarget, [target], rest)]
            : conditionsOf(query)
      const rows = yield* guard(
        sql`SELECT ${columns} FROM audit_events WHERE ${sql.and(conditions)} ORDER BY id DESC LIMIT ${query.limit}`
      )
      return yield* table.decode(rows)
    }),

    deleteOld: Effect.fn("AuditStore.deleteOld")(function* ({ beforeMs, limit, most }) {
      const rows = yield* guard(
        sql`DELETE FROM audit_events WHERE id = ANY(ARRAY(
              SELECT id FROM audit_events WHERE id < ${idBound("aud", beforeMs)}
                OR id <= (SELECT id FROM audit_events ORDER BY id DESC OFFSET ${most} LIMIT 1)
              ORDER BY id LIMIT ${limit}
            )) RETURNING 1`
      )
      return rows.length
    })
  })
})

export const layer = Layer.effect(AuditStore, makeAuditSql)
