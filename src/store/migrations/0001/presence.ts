/** The processes that use this database, and a check that it can be written to. */

export const presence = [
  // Times are those of the database's clock. `shares_limits`: limits are counted in Redis.
  `CREATE TABLE live_processes (
    id text COLLATE "C" PRIMARY KEY,
    host text NOT NULL,
    pid bigint NOT NULL,
    shares_limits boolean NOT NULL,
    started_at_ms bigint NOT NULL DEFAULT ledger_now(),
    heartbeat_at_ms bigint NOT NULL DEFAULT ledger_now()
  )`,

  // One row, which is overwritten. A read-only database refuses that.
  `CREATE TABLE health_writes (
    id integer PRIMARY KEY CHECK (id = 1), written_at_ms bigint NOT NULL
  ) WITH (fillfactor = 10)`,

  // Checks by writing. With `extend` it also grows the file of a temporary table by 64 kB, which is
  // emptied at the end of the transaction. A full disk refuses that, but not the overwriting of a
  // row.
  `CREATE FUNCTION health_write(extend boolean) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO health_writes VALUES (1, ledger_now())
      ON CONFLICT (id) DO UPDATE SET written_at_ms = excluded.written_at_ms;
    IF extend THEN
      IF to_regclass('pg_temp.health_room') IS NULL THEN
        CREATE TEMPORARY TABLE health_room (bytes text) ON COMMIT DELETE ROWS;
        -- Without this, Postgres would compress the repeated text.
        ALTER TABLE health_room ALTER COLUMN bytes SET STORAGE PLAIN;
      END IF;
      EXECUTE $insert$INSERT INTO health_room SELECT repeat('.', 8000) FROM generate_series(1, 8)$insert$;
    END IF;
  END $$`
]
