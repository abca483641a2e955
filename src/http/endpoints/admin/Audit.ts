/** The endpoint of the audit trail. */
import { DateTime, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import { type AuditEventRecord } from "../../../api/Audit.ts"
import { actorKinds, type AuditEvent } from "../../../domain/Audit.ts"
import { type AuditPage, AuditTrail, type AuditTrailQuery } from "../../../gateway/admin/AuditTrail.ts"
import { guard } from "../../errors/ErrorResponse.ts"
import { csvResponse } from "../Csv.ts"

/** Rows of a page of a CSV. */
const CSV_PAGE = 200

const columns = [
  "id",
  "created_at",
  "action",
  "outcome",
  "actor",
  "actor_id",
  "actor_name",
  "address",
  "request_id",
  "target",
  "target_name",
  "details",
  "count"
] as const satisfies ReadonlyArray<keyof AuditEventRecord>

export const layer = HttpApiBuilder.group(
  Api,
  "adminAudit",
  Effect.fnUntraced(function* (handlers) {
    const trail = yield* AuditTrail
    return handlers
      .handle("list", ({ query: { format, ...sent } }) => {
        const query = queryOf(sent)
        return format === "csv" ? guard(csvOf(trail, query)) : guard(listOf(trail, query))
      })
      .handle("refusedCredentials", ({ query: { address, from, limit, to } }) =>
        guard(
          Effect.map(
            trail.refusedCredentials({
              limit: limit + 1,
              ...(address === undefined ? {} : { address }),
              ...(from === undefined ? {} : { fromMs: DateTime.toEpochMillis(from) }),
              ...(to === undefined ? {} : { toMs: DateTime.toEpochMillis(to) })
            }),
            (found) => ({
              object: "list" as const,
              data: found.slice(0, limit).map((one) => ({
                address: one.address,
                count: one.count,
                first_at: new Date(one.firstMs).toISOString(),
                last_at: new Date(one.lastMs).toISOString(),
                by_credential: one.byCredential
              })),
              has_more: found.length > limit
            })
          )
        )
      )
  })
)

const csvOf = (trail: AuditTrail["Service"], query: AuditTrailQuery) =>
  csvResponse({
    columns,
    name: "audit",
    read: (cursor) =>
      Effect.map(trail.list({ ...query, cursor, limit: CSV_PAGE }), (page) => ({
        rows: rowsOf(page).map((row) => ({ ...row, details: JSON.stringify(row.details) })),
        nextCursor: page.nextCursor
      }))
  })

const listOf = (trail: AuditTrail["Service"], query: AuditTrailQuery) =>
  Effect.map(trail.list(query), (page) => ({
    object: "list" as const,
    data: rowsOf(page),
    has_more: page.nextCursor !== null,
    next_cursor: page.nextCursor
  }))

interface Sent extends Pick<AuditTrailQuery, "limit" | "action" | "outcome" | "target" | "address"> {
  readonly cursor?: string
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
  readonly actor?: string
  readonly request_id?: string
  readonly q?: string
}

const queryOf = ({ actor, cursor, from, q, request_id: requestId, to, ...same }: Sent): AuditTrailQuery => {
  const kind = actorKinds.find((one) => one === actor)
  return {
    ...same,
    cursor: cursor ?? null,
    ...(from === undefined ? {} : { fromMs: DateTime.toEpochMillis(from) }),
    ...(to === undefined ? {} : { toMs: DateTime.toEpochMillis(to) }),
    ...(kind !== undefined ? { actor: kind } : actor === undefined ? {} : { actorId: actor }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(q === undefined || q.trim() === "" ? {} : { search: q.trim() })
  }
}

const rowsOf = ({ events, names }: AuditPage): ReadonlyArray<AuditEventRecord> =>
  events.map((event) => rowOf(event, names))

const rowOf = (event: AuditEvent, names: AuditPage["names"]): AuditEventRecord => ({
  id: event.id,
  created_at: new Date(event.createdAtMs).toISOString(),
  action: event.action,
  outcome: event.outcome,
  actor: event.actor,
  actor_id: event.actorId,
  actor_name: event.actorId === null ? null : (names.get(event.actorId) ?? null),
  address: event.address,
  request_id: event.requestId,
  target: event.target,
  target_name: event.target === null ? null : (names.get(event.target) ?? null),
  details: event.details,
  count: event.count
})
