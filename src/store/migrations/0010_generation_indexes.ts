/**
 * Generations of a model or of a provider, newest first: what is rare is found without reading what lies between. The days of
 * the usage, which bounded that search, need no index for it any more.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE INDEX generations_model ON generations (model, id DESC)`
  yield* sql`CREATE INDEX generations_provider ON generations (provider, id DESC)`
  yield* sql`DROP INDEX usage_days_model`
  yield* sql`DROP INDEX usage_days_provider`
})
