/** The processes that live on this database. Unix milliseconds, by its clock; `shares_limits`: limits are counted in Redis. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE live_processes (
    id text COLLATE "C" PRIMARY KEY,
    host text NOT NULL,
    pid bigint NOT NULL,
    shares_limits boolean NOT NULL,
    started_at_ms bigint NOT NULL DEFAULT ledger_now(),
    heartbeat_at_ms bigint NOT NULL DEFAULT ledger_now()
  )`
})
