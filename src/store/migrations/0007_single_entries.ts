/**
 * The common writes of the ledger for one entry each: a reservation that fits, and the settlement
 * of a request that is not settled yet. They do what `ledger_write` does for a group of this one
 * entry, at a third of its cost. In all other cases they write nothing and return false, and the
 * caller asks `ledger_write`. Like it, they lock the counter first and then read what was committed
 * under this lock. An entry has the form that `ledger_write` takes.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { planning } from "./0001/ledgerLocks.ts"
import { addToDay } from "./0001/usage.ts"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"

const statements = [
  // A key that is stored has its current cap.
  `CREATE FUNCTION ledger_reserve_one(e jsonb) RETURNS boolean LANGUAGE plpgsql ${planning} AS $$
  BEGIN
    PERFORM FROM budget_counters WHERE key_id = e->>3 AND month = e->>4 FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM reservations WHERE generation_id = e->>0)
      OR EXISTS (SELECT FROM generations WHERE id = e->>0) THEN
      RETURN false;
    END IF;
    UPDATE budget_counters AS c SET reserved_nano = c.reserved_nano + (e->>1)::bigint
      WHERE c.key_id = e->>3 AND c.month = e->>4 AND (e->>2 IS NULL OR
        c.spent_nano + c.reserved_nano + (e->>1)::bigint <= coalesce(
          (SELECT coalesce(k.monthly_budget_nano, 9007199254740991) FROM api_keys AS k WHERE k.id = e->>3),
          (e->>2)::bigint));
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    INSERT INTO reservations (generation_id, key_id, owner_id, model, month, amount_nano, created_at_ms, lease_until_ms,
      process_id, progress)
    VALUES (e->>0, e->>3, e->>5, e->>6, e->>4, (e->>1)::bigint, (e->>7)::bigint, ledger_now() + (e->>9)::bigint, e->>8,
      nullif(e->10, 'null'));
    RETURN true;
  END $$`,

  // With a cap, a replayed answer, which is stored if the amount of a fresh answer would fit. The
  // request may have no reservation.
  `CREATE FUNCTION ledger_settle_one(e jsonb, amount bigint, cap bigint) RETURNS boolean LANGUAGE plpgsql
  ${planning} AS $$
  DECLARE
    released bigint;
  BEGIN
    PERFORM FROM budget_counters AS c WHERE c.key_id = e->>1 AND c.month = e->>5
      AND (cap IS NULL OR c.spent_nano + c.reserved_nano + amount <= cap) FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM generations WHERE id = e->>0) THEN
      RETURN false;
    END IF;
    DELETE FROM reservations WHERE generation_id = e->>0 AND key_id = e->>1 AND month = e->>5
      RETURNING amount_nano INTO released;
    IF NOT FOUND THEN
      IF EXISTS (SELECT FROM reservations WHERE generation_id = e->>0) THEN
        RETURN false;
      END IF;
      released := 0;
    END IF;
    UPDATE budget_counters AS c
      SET spent_nano = c.spent_nano + (e->>16)::bigint, reserved_nano = c.reserved_nano - released
      WHERE c.key_id = e->>1 AND c.month = e->>5;
    WITH g AS (
      INSERT INTO generations (id, key_id, owner_id, model, provider, month, created_at_ms, prompt_tokens,
        completion_tokens, cached_tokens, usage_source, prompt_nano, completion_nano, cache_discount_nano, total_nano,
        markup_nano, billed_nano, latency_ms, time_to_first_token_ms, fallback_used, cache_hit, streamed, cancelled,
        finish_reason, error_type, receipt)
      VALUES (e->>0, e->>1, e->>2, e->>3, e->>4, e->>5, (e->>6)::bigint, (e->>7)::bigint, (e->>8)::bigint,
        (e->>9)::bigint, e->>10, (e->>11)::bigint, (e->>12)::bigint, (e->>13)::bigint, (e->>14)::bigint,
        (e->>15)::bigint, (e->>16)::bigint, (e->>17)::double precision, (e->>18)::double precision, (e->>19)::boolean,
        (e->>20)::boolean, (e->>21)::boolean, (e->>22)::boolean, e->>23, e->>24, e->25)
      RETURNING key_id, created_at_ms, model, provider, owner_id, error_type, cache_hit, prompt_tokens,
        completion_tokens, cached_tokens, total_nano, markup_nano, billed_nano, cache_discount_nano
    )
    INSERT INTO usage_days AS u
    SELECT key_id, created_at_ms / 86400000, model, provider, owner_id, 1, (error_type IS NOT NULL)::integer,
      cache_hit::integer, prompt_tokens, completion_tokens, cached_tokens, total_nano, markup_nano, billed_nano,
      CASE WHEN cache_hit THEN cache_discount_nano ELSE 0 END
    FROM g
    ${addToDay};
    RETURN true;
  END $$`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)

export const facts: MigrationFacts = {
  changes: "Adds two functions that write single entries of the ledger.",
  locks: "Locks no existing table and takes no noticeable time.",
  oldVersion: "The old version runs beside it and ignores the new functions."
}
