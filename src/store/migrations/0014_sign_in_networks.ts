/** Which network asked for a code, so that codes that others ask for do not count against a person's own. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Of codes that were made before, and by processes of the version before: nobody's.
  yield* sql`ALTER TABLE sign_in_codes ADD COLUMN network_hash text`
})
