/** Keys of providers, sealed by the gateway. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(`CREATE TABLE sealed_keys (
    name text COLLATE "C" PRIMARY KEY,
    sealed bytea NOT NULL,
    updated_at_ms bigint NOT NULL
  )`)
)

export const facts: MigrationFacts = {
  changes: "Adds the table of sealed keys of providers.",
  locks: "Locks no existing table and takes no noticeable time.",
  oldVersion:
    "The old version runs beside it and ignores the new table. It cannot read `${sealed:...}` in a settings file."
}
