/**
 * The requests that the gateway refused. Each index is for one filter of the list, which runs by
 * id, newest first.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"

const statements = [
  `CREATE TABLE refusals (
    id text COLLATE "C" PRIMARY KEY,
    request_id text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    endpoint text,
    status integer NOT NULL,
    type text NOT NULL,
    code text,
    message text NOT NULL,
    key_id text COLLATE "C",
    owner_id text COLLATE "C",
    model text,
    count integer NOT NULL CHECK (count > 0)
  )`,
  `CREATE INDEX refusals_request ON refusals (request_id)`,
  `CREATE INDEX refusals_key ON refusals (key_id, id DESC) WHERE key_id IS NOT NULL`,
  `CREATE INDEX refusals_owner ON refusals (owner_id, id DESC) WHERE owner_id IS NOT NULL`,
  `CREATE INDEX refusals_model ON refusals (model, id DESC) WHERE model IS NOT NULL`,
  `CREATE INDEX refusals_status ON refusals (status, id DESC)`,
  `CREATE INDEX refusals_type ON refusals (type, id DESC)`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)

export const facts: MigrationFacts = {
  changes: "Adds the table of requests that the gateway refused.",
  locks: "Locks no existing table and takes no noticeable time.",
  oldVersion: "The old version runs beside it and ignores the new table."
}
