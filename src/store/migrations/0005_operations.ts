/**
 * The audit trail, refused credentials by network address and minute, and the moment at which a
 * dead letter was retried. Each index is for one filter of a list, which runs by id, newest first.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"

const statements = [
  `CREATE TABLE audit_events (
    id text COLLATE "C" PRIMARY KEY,
    created_at_ms bigint NOT NULL,
    action text NOT NULL,
    outcome text NOT NULL,
    actor text NOT NULL,
    actor_id text COLLATE "C",
    address text COLLATE "C",
    request_id text COLLATE "C",
    target text COLLATE "C",
    details jsonb NOT NULL,
    count integer NOT NULL CHECK (count > 0)
  )`,
  `CREATE INDEX audit_events_action ON audit_events (action, id DESC)`,
  `CREATE INDEX audit_events_failed ON audit_events (outcome, id DESC) WHERE outcome <> 'done'`,
  `CREATE INDEX audit_events_actor ON audit_events (actor, id DESC)`,
  `CREATE INDEX audit_events_actor_id ON audit_events (actor_id, id DESC) WHERE actor_id IS NOT NULL`,
  `CREATE INDEX audit_events_address ON audit_events (address, id DESC) WHERE address IS NOT NULL`,
  `CREATE INDEX audit_events_request ON audit_events (request_id) WHERE request_id IS NOT NULL`,
  `CREATE INDEX audit_events_target ON audit_events (target, id DESC) WHERE target IS NOT NULL`,
  `CREATE INDEX audit_events_user ON audit_events ((details->>'user'), id DESC) WHERE details->>'user' IS NOT NULL`,

  `CREATE TABLE refused_credentials (
    minute_ms bigint NOT NULL,
    address text COLLATE "C" NOT NULL,
    credential text COLLATE "C" NOT NULL,
    count bigint NOT NULL CHECK (count > 0),
    last_ms bigint NOT NULL,
    PRIMARY KEY (minute_ms, address, credential)
  )`,
  `CREATE INDEX refused_credentials_address ON refused_credentials (address, minute_ms DESC)`,

  `ALTER TABLE webhook_dead_letters ADD COLUMN retried_at_ms bigint`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)

export const facts: MigrationFacts = {
  changes:
    "Adds the audit trail and the counts of refused credentials, and a column to the webhooks that could not be " +
    "delivered.",
  locks: "Locks the table of undelivered webhooks for an instant, however many rows it has. Requests do not wait.",
  oldVersion: "The old version runs beside it and leaves the new tables and the column empty."
}
