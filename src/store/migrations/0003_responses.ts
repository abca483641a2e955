/**
 * Responses that clients may continue and read again. They are compressed and encrypted with a key
 * that is not in the database. `position` counts up as they are stored.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"

const statements = [
  `CREATE TABLE responses (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    expires_at_ms bigint NOT NULL,
    sealed bytea NOT NULL,
    UNIQUE (key_id, id)
  )`,
  `ALTER TABLE responses ALTER COLUMN sealed SET STORAGE EXTERNAL`,
  `CREATE INDEX responses_expiry ON responses (expires_at_ms)`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)

export const facts: MigrationFacts = {
  changes: "Adds the table of stored responses, sealed.",
  locks: "Locks no existing table and takes no noticeable time.",
  oldVersion: "The old version runs beside it and ignores the new table."
}
