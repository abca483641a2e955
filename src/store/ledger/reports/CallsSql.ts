/**
 * The calls of providers from Postgres: one statement over the ids of a short span, which contain
 * the time. The archive is left out: it has nothing of the last day.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { idBound } from "../../../domain/Ids.ts"
import { guard } from "../../sql/SqlErrors.ts"
import { bucketsOf, type CallFigure, TIME_STEPS } from "../../../domain/Calls.ts"
import type { SeriesSpan } from "./LedgerReports.ts"

interface Row extends Omit<CallFigure, "startMs"> {
  readonly start_ms: number
}

export const callsQuery = (sql: PgClient.PgClient, { bucketMs, fromMs, toMs }: SeriesSpan) => {
  const bucket = (ms: string) => sql.literal(`round(${TIME_STEPS} * ln(greatest(1, ${ms})))::bigint`)
  return sql<Row>`
    WITH calls AS MATERIALIZED (
      SELECT g.id, g.created_at_ms, g.created_at_ms / ${bucketMs}::bigint * ${bucketMs}::bigint AS start_ms,
        g.streamed, a.*,
        a.status = 'ok' OR (a."errorType" = 'rejected' AND a."httpStatus" IS DISTINCT FROM 404) AS is_answered
      FROM generations AS g, jsonb_to_recordset(g.receipt->'attempts') AS a(provider text, model text, status text,
        "errorType" text, "httpStatus" integer, message text, "latencyMs" float8, "startedMs" float8, "endedMs" float8)
      WHERE g.id >= ${idBound("gen", fromMs)} AND g.id < ${idBound("gen", toMs)} AND (a.status = 'ok'
        OR (a.status IN ('error', 'timeout') AND a."errorType" NOT IN ('unsupported', 'internal_error')))
    ), figures AS (
      SELECT start_ms, provider, model, figure FROM calls, LATERAL (VALUES
        (CASE WHEN is_answered THEN 'answered'
          ELSE 'failed ' || "errorType" || ' ' || coalesce("httpStatus"::text, '') END),
        (CASE WHEN status = 'ok' AND streamed THEN 'first ' || ${bucket('"latencyMs"')} END),
        (CASE WHEN status = 'ok' AND NOT streamed THEN 'whole ' || ${bucket('"latencyMs"')}
          WHEN status = 'ok' AND "endedMs" IS NOT NULL THEN
            'whole ' || ${bucket('"endedMs" - coalesce("startedMs", 0)')} END)
      ) AS named(figure) WHERE figure IS NOT NULL
    )
    SELECT start_ms, provider, model, figure, count(*)::bigint AS count, NULL::jsonb AS last
      FROM figures GROUP BY start_ms, provider, model, figure
    UNION ALL
    SELECT start_ms, provider, model, 'last', 1, last FROM (
      SELECT DISTINCT ON (start_ms, provider, model) start_ms, provider, model,
        jsonb_build_object('atMs', (created_at_ms + coalesce("startedMs", 0))::bigint, 'errorType', "errorType",
          'httpStatus', "httpStatus", 'message', message) AS last
      FROM calls WHERE NOT is_answered ORDER BY start_ms, provider, model, id DESC, "startedMs" DESC NULLS LAST
    ) AS newest
    ORDER BY start_ms, provider, model, figure`
}

export const makeCalls = (sql: PgClient.PgClient) =>
  Effect.fn("LedgerReports.calls")(function* (span: SeriesSpan) {
    const rows = yield* guard(callsQuery(sql, span))
    return bucketsOf(rows.map(({ start_ms: startMs, ...figure }) => ({ startMs, ...figure })))
  })
