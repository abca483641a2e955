/**
 * Usage by owner, and on which days a model or a provider was used at all: each over an index. Lists of an owner's generations come by
 * id, newest first, and what they used is no longer summed up from them.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE INDEX usage_days_owner ON usage_days (owner_id, day) WHERE owner_id IS NOT NULL`
  yield* sql`CREATE INDEX usage_days_model ON usage_days (model, day)`
  yield* sql`CREATE INDEX usage_days_provider ON usage_days (provider, day)`

  yield* sql`DROP INDEX generations_owner`
  yield* sql`CREATE INDEX generations_owner ON generations (owner_id, id DESC) WHERE owner_id IS NOT NULL`
})
