/**
 * Databases in which the fast form of single entries decides nothing, so that groups are tested.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  "CREATE OR REPLACE FUNCTION ledger_reserve_one(e jsonb) RETURNS boolean LANGUAGE sql AS 'SELECT false'",
  `CREATE OR REPLACE FUNCTION ledger_settle_one(e jsonb, amount bigint, cap bigint) RETURNS boolean LANGUAGE sql
    AS 'SELECT false'`
]

const replaced = Layer.effectDiscard(
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
  )
)

export const withoutSingleEntries = <A, E, R>(database: Layer.Layer<A | SqlClient.SqlClient, E, R>) =>
  Layer.provideMerge(replaced, database)
