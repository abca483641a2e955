/**
 * Whether the database takes writes, asked by writing: the one row of a table, which stays as small as it is. A database that only reads refuses
 * it. `extend` makes a file of a temporary table grow by 64 kB too, and empties it at the end of the transaction: what a full disk
 * refuses, where overwriting a row does not.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE health_writes (
    id integer PRIMARY KEY CHECK (id = 1), written_at_ms bigint NOT NULL
  ) WITH (fillfactor = 10)`
  yield* sql.unsafe(`
    CREATE FUNCTION health_write(extend boolean) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO health_writes VALUES (1, ledger_now())
        ON CONFLICT (id) DO UPDATE SET written_at_ms = excluded.written_at_ms;
      IF extend THEN
        IF to_regclass('pg_temp.health_room') IS NULL THEN
          CREATE TEMPORARY TABLE health_room (bytes text) ON COMMIT DELETE ROWS;
          -- Else what is repeated is packed.
          ALTER TABLE health_room ALTER COLUMN bytes SET STORAGE PLAIN;
        END IF;
        EXECUTE $insert$INSERT INTO health_room SELECT repeat('.', 8000) FROM generate_series(1, 8)$insert$;
      END IF;
    END $$`)
})
