/**
 * What an operator sees of the queues: read from the library's table `webhook_queue`, which keeps
 * ended deliveries for a day, beside the dead letters. Reading costs the deliveries nothing: no row
 * is written for it.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import { EventType } from "../../domain/Events.ts"
import { guard } from "../sql/SqlErrors.ts"

/** `dead`: given up; the event is a dead letter. */
export const deliveryStates = ["pending", "delivered", "dead"] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** A delivery as an operator sees it. Ended ones are shown for a day. */
export interface DeliveryRecord {
  /** Counts up as deliveries are queued. */
  readonly position: number
  readonly eventId: string
  readonly type: EventType
  readonly url: string
  readonly state: DeliveryState
  readonly attempts: number
  /** Of the last failed attempt: our own text. */
  readonly lastError: string | null
  readonly createdAtMs: number
  /** The end of the last attempt. */
  readonly updatedAtMs: number
  /** Null unless it is pending. */
  readonly nextAttemptMs: number | null
}

export interface DeliveryQuery {
  readonly limit: number
  /** Only positions below this one. */
  readonly cursor: number | null
  readonly state?: DeliveryState
  readonly url?: string
}

/** What is known of the deliveries to one address in the last day. */
export interface AddressSummary {
  readonly url: string
  readonly pending: number
  readonly delivered: number
  readonly dead: number
  readonly lastDeliveredMs: number | null
  readonly lastFailedMs: number | null
  readonly lastError: string | null
}

const Row = Schema.Struct({
  position: Schema.Finite,
  eventId: Schema.String,
  type: EventType,
  url: Schema.String,
  state: Schema.Literals(deliveryStates),
  attempts: Schema.Finite,
  lastError: Schema.NullOr(Schema.String),
  createdAtMs: Schema.Finite,
  updatedAtMs: Schema.Finite,
  nextAttemptMs: Schema.NullOr(Schema.Finite)
})
const Summary = Schema.Struct({
  url: Schema.String,
  pending: Schema.Finite,
  delivered: Schema.Finite,
  dead: Schema.Finite,
  lastDeliveredMs: Schema.NullOr(Schema.Finite),
  lastFailedMs: Schema.NullOr(Schema.Finite),
  lastError: Schema.NullOr(Schema.String)
})
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))
const decodeSummaries = Schema.decodeUnknownEffect(Schema.Array(Summary))

const msOf = (column: string) => `(extract(epoch FROM ${column}::timestamptz) * 1000)::bigint`

/** The handler's own text inside the library's report of a failure. */
const lastError = `substring(last_failure FROM '"?why"?: ?"([^"]*)"')`

/**
 * A delivery that was given up is completed for the queue, and has a dead letter. A retried one is
 * given up if its letter is a dead letter again.
 */
const state = `CASE
  WHEN queued.state = 'pending' THEN 'pending'
  WHEN queued.state = 'failed' OR EXISTS (
    SELECT 1 FROM webhook_dead_letters AS letter
    WHERE letter.event_id = queued.event->>'eventId' AND letter.url = queued.event->>'url'
      AND (queued.event->'retried' IS NULL
        OR (letter.id = queued.event->'retried'->>'letterId' AND letter.retried_at_ms IS NULL))
  ) THEN 'dead'
  ELSE 'delivered' END`

const records = `SELECT sequence AS "position", queued.event->>'eventId' AS "eventId", queued.event->>'type' AS type,
    queued.event->>'url' AS url, ${state} AS state, attempts, ${lastError} AS "lastError",
    ${msOf("created_at")} AS "createdAtMs", ${msOf("updated_at")} AS "updatedAtMs",
    CASE WHEN queued.state = 'pending' THEN ${msOf("visible_at")} END AS "nextAttemptMs"
  FROM (SELECT *, element::jsonb AS event FROM webhook_queue) AS queued`

export const deliveryRecords = (sql: PgClient.PgClient) => ({
  list: Effect.fn("DeliveryQueue.list")(function* ({ cursor, limit, state: wanted, url }: DeliveryQuery) {
    const rows = yield* guard(
      sql`SELECT * FROM (${sql.literal(records)}) AS record WHERE ${sql.and([
        sql`(${cursor}::bigint IS NULL OR "position" < ${cursor}::bigint)`,
        ...(wanted === undefined ? [] : [sql`state = ${wanted}`]),
        ...(url === undefined ? [] : [sql`url = ${url}`])
      ])} ORDER BY "position" DESC LIMIT ${limit}`
    )
    return yield* Effect.orDie(decodeRows(rows))
  }),

  summaries: Effect.gen(function* () {
    const rows = yield* guard(
      sql`SELECT url, count(*) FILTER (WHERE state = 'pending')::int AS pending,
            count(*) FILTER (WHERE state = 'delivered')::int AS delivered,
            count(*) FILTER (WHERE state = 'dead')::int AS dead,
            max("updatedAtMs") FILTER (WHERE state = 'delivered') AS "lastDeliveredMs",
            max("updatedAtMs") FILTER (WHERE state = 'dead' OR "lastError" IS NOT NULL AND state = 'pending')
              AS "lastFailedMs",
            (array_agg("lastError" ORDER BY "updatedAtMs" DESC) FILTER (WHERE "lastError" IS NOT NULL))[1] AS "lastError"
          FROM (${sql.literal(records)}) AS record GROUP BY url`
    )
    return yield* Effect.orDie(decodeSummaries(rows))
  }).pipe(Effect.withSpan("DeliveryQueue.summaries"))
})
