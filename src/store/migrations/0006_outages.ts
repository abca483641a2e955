/** The history of circuits. The table is small: the newest rows of each circuit. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"

const statements = [
  `CREATE TABLE outages (
    id text COLLATE "C" PRIMARY KEY,
    provider text COLLATE "C" NOT NULL,
    model text COLLATE "C",
    opened_at_ms bigint NOT NULL,
    closed_at_ms bigint,
    closed_by text,
    openings bigint NOT NULL CHECK (openings > 0),
    cause jsonb,
    process text NOT NULL
  )`,
  `CREATE INDEX outages_circuit ON outages (provider, model, id DESC)`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)

export const facts: MigrationFacts = {
  changes: "Adds the table of the history of circuits.",
  locks: "Locks no existing table and takes no noticeable time.",
  oldVersion: "The old version runs beside it and ignores the new table."
}
