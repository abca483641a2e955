/** The processes that live on this database, and whether it takes writes. */

export const presence = [
  // By the database's clock. `shares_limits`: limits are counted in Redis.
  `CREATE TABLE live_processes (
    id text COLLATE "C" PRIMARY KEY,
    host text NOT NULL,
    pid bigint NOT NULL,
    shares_limits boolean NOT NULL,
    started_at_ms bigint NOT NULL DEFAULT ledger_now(),
    heartbeat_at_ms bigint NOT NULL DEFAULT ledger_now()
  )`,

  // One row, which is overwritten: a database that only reads refuses it.
  `CREATE TABLE health_writes (
    id integer PRIMARY KEY CHECK (id = 1), written_at_ms bigint NOT NULL
  ) WITH (fillfactor = 10)`,

  // Asks by writing. `extend` makes a file of a temporary table grow by 64 kB too, and empties it
  // at the end of the transaction: what a full disk refuses, where overwriting a row is not
  // refused.
  `CREATE FUNCTION health_write(extend boolean) RETURNS void LANGUAGE plpgsql AS $$
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
  END $$`
]
