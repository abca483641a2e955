/** What a key asks of the privacy guard beyond its deployment; null: nothing. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE api_keys ADD COLUMN privacy text CHECK (privacy IN ('mask', 'block'))`
})
