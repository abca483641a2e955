/**
 * Writes a group of idempotency keys in one statement. Rows are locked in the order of their ids,
 * so that groups of concurrent processes never deadlock. An entry is an array: a claim is `[id,
 * holder, fingerprint, lease until, expires at, now]`, a completion `[id, holder, expires at]` and
 * a release `[id, holder]`; times are Unix milliseconds. The completions come first, and `replies`
 * are theirs. The ids of a group are distinct.
 *
 * It answers the claims that did not get their key, with the state that they found. A reply longer
 * than `longest` is left out.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"

const statements = [
  // A claim that finds a row locks it, taken or not, so it sees the row's newest state.
  `CREATE FUNCTION idempotency_write(entries jsonb, replies bytea[], longest integer)
  RETURNS TABLE (id text, fingerprint text, is_complete boolean, reply bytea) LANGUAGE plpgsql
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
  #variable_conflict use_column
  DECLARE
    e jsonb;
    sealed bytea;
  BEGIN
    FOR e, sealed IN
      SELECT one.e, one.sealed FROM ROWS FROM (jsonb_array_elements(entries), unnest(replies)) AS one(e, sealed)
      ORDER BY (one.e->>0) COLLATE "C"
    LOOP
      CASE jsonb_array_length(e)
      WHEN 2 THEN
        DELETE FROM idempotency_keys AS k WHERE k.id = e->>0 AND k.holder = e->>1 AND k.reply IS NULL;
      WHEN 3 THEN
        UPDATE idempotency_keys AS k SET reply = sealed, expires_at_ms = (e->>2)::bigint
          WHERE k.id = e->>0 AND k.holder = e->>1 AND k.reply IS NULL;
      ELSE
        INSERT INTO idempotency_keys AS k (id, holder, fingerprint, lease_until_ms, expires_at_ms)
          VALUES (e->>0, e->>1, e->>2, (e->>3)::bigint, (e->>4)::bigint)
          ON CONFLICT (id) DO UPDATE
            SET holder = excluded.holder, fingerprint = excluded.fingerprint, reply = NULL,
                lease_until_ms = excluded.lease_until_ms, expires_at_ms = excluded.expires_at_ms
            WHERE k.expires_at_ms <= (e->>5)::bigint OR k.reply IS NULL AND k.lease_until_ms <= (e->>5)::bigint;
        IF NOT FOUND THEN
          RETURN QUERY SELECT k.id, k.fingerprint, k.reply IS NOT NULL,
            CASE WHEN octet_length(k.reply) <= longest THEN k.reply END
            FROM idempotency_keys AS k WHERE k.id = e->>0;
        END IF;
      END CASE;
    END LOOP;
  END $$`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)

export const facts: MigrationFacts = {
  changes: "Adds a function that writes idempotency keys in groups.",
  locks: "Locks no existing table and takes no noticeable time.",
  oldVersion: "The old version runs beside it and ignores the new function."
}
