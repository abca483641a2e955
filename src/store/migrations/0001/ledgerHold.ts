/** The functions that change running reservations: reserve, extend, and renew leases. */
import { planning } from "./ledgerLocks.ts"

export const ledgerHold = [
  // Reserves or extends, entry by entry in the given order, if the amount fits below the key's cap.
  // An entry with a null cap has no cap. An entry is an array: id, amount, cap; for a reservation
  // also key, month, owner, model, beginning, process, length of the lease, progress. Returns the
  // refused entries, each with the balance that it met. An extension uses only counters that were
  // locked before: a reservation made after that lock is not found.
  `CREATE FUNCTION ledger_hold(asked jsonb, locked_key_ids text[], locked_months text[])
  RETURNS TABLE (refused text, spent_nano bigint, reserved_nano bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    asked_ids text[] := ARRAY(SELECT e->>0 FROM jsonb_array_elements(asked) AS e);
    granted boolean[] := array_fill(false, ARRAY[cardinality(asked_ids)]);
    extends boolean := false;
    reserves boolean := false;
    one record;
    counter integer := 0;
    key_ids text[] := '{}';
    months text[] := '{}';
    added bigint[] := '{}';
    held bigint;
  BEGIN
    FOR one IN
      WITH entry AS MATERIALIZED (
        SELECT position, e->>0 AS id, (e->>1)::bigint AS amount, (e->>2)::bigint AS cap, e->>3 AS key_id, e->>4 AS month
        FROM jsonb_array_elements(asked) WITH ORDINALITY AS given(e, position)
      ), found AS MATERIALIZED (
        SELECT generation_id AS id, key_id, month, true AS pending FROM reservations WHERE generation_id = ANY(asked_ids)
        UNION ALL SELECT id, key_id, month, false FROM generations WHERE id = ANY(asked_ids)
      ), whole AS MATERIALIZED (
        SELECT entry.position, entry.id, entry.amount,
          CASE WHEN entry.cap IS NULL OR k.id IS NULL THEN entry.cap ELSE k.monthly_budget_nano END AS cap,
          coalesce(entry.key_id, found.key_id) AS key_id, coalesce(entry.month, found.month) AS month,
          entry.key_id IS NULL AS extension, found.pending
        FROM entry LEFT JOIN found ON found.id = entry.id
        LEFT JOIN api_keys AS k ON k.id = coalesce(entry.key_id, found.key_id) AND k.id = ANY(locked_key_ids)
      ), locked AS MATERIALIZED (
        SELECT c.* FROM budget_counters AS c JOIN unnest(locked_key_ids, locked_months) AS one(key_id, month)
          ON c.key_id = one.key_id AND c.month = one.month
        WHERE c.key_id = ANY(locked_key_ids)
      )
      SELECT whole.*, locked.key_id IS NOT NULL AS locked, coalesce(locked.spent_nano, 0) AS spent_nano,
        coalesce(locked.reserved_nano, 0) AS reserved_nano
      FROM whole LEFT JOIN locked ON locked.key_id = whole.key_id AND locked.month = whole.month
      ORDER BY whole.key_id, whole.month, whole.extension DESC, whole.position
    LOOP
      IF counter = 0 OR one.key_id IS DISTINCT FROM key_ids[counter] OR one.month IS DISTINCT FROM months[counter] THEN
        counter := counter + 1;
        key_ids[counter] := one.key_id;
        months[counter] := one.month;
        added[counter] := 0;
        held := one.reserved_nano;
      END IF;
      IF NOT one.extension AND one.pending IS NOT NULL THEN
        CONTINUE;
      ELSIF one.locked AND (NOT one.extension OR one.pending)
        AND (one.cap IS NULL OR one.spent_nano + held + one.amount <= one.cap) THEN
        granted[one.position] := true;
        added[counter] := added[counter] + one.amount;
        held := held + one.amount;
        extends := extends OR one.extension;
        reserves := reserves OR NOT one.extension;
      ELSE
        refused := one.id;
        spent_nano := one.spent_nano;
        reserved_nano := held;
        RETURN NEXT;
      END IF;
    END LOOP;

    IF extends THEN
      UPDATE reservations AS r
      SET amount_nano = r.amount_nano + entry.amount, extended_nano = r.extended_nano + entry.amount
      FROM (
        SELECT e->>0 AS id, (e->>1)::bigint AS amount
        FROM jsonb_array_elements(asked) WITH ORDINALITY AS given(e, position) WHERE granted[position] AND e->>3 IS NULL
      ) AS entry
      WHERE r.generation_id = ANY(asked_ids) AND r.generation_id = entry.id;
    END IF;
    IF reserves THEN
      INSERT INTO reservations (generation_id, key_id, owner_id, model, month, amount_nano, created_at_ms, lease_until_ms,
        process_id, progress)
      SELECT e->>0, e->>3, e->>5, e->>6, e->>4, (e->>1)::bigint, (e->>7)::bigint,
        ledger_now() + (e->>9)::bigint, e->>8, nullif(e->10, 'null')
      FROM jsonb_array_elements(asked) WITH ORDINALITY AS given(e, position) WHERE granted[position] AND e->>3 IS NOT NULL;
    END IF;
    UPDATE budget_counters AS c SET reserved_nano = c.reserved_nano + delta.amount
    FROM unnest(key_ids, months, added) AS delta(key_id, month, amount)
    WHERE c.key_id = ANY(key_ids) AND c.key_id = delta.key_id AND c.month = delta.month AND delta.amount <> 0;
  END $$`,

  // Renews reservations. Each is an array of id and progress; a null progress leaves the recorded
  // one unchanged.
  `CREATE FUNCTION ledger_beat(running jsonb, lease_ms bigint) RETURNS void LANGUAGE plpgsql
  ${planning} AS $$
  DECLARE
    ids text[] := ARRAY(SELECT e->>0 FROM jsonb_array_elements(running) AS e);
    key_ids text[];
    months text[];
  BEGIN
    SELECT array_agg(key_id), array_agg(month) INTO key_ids, months FROM reservations WHERE generation_id = ANY(ids);
    IF key_ids IS NOT NULL THEN
      PERFORM ledger_lock(key_ids, months);
      UPDATE reservations AS r
      SET lease_until_ms = ledger_now() + lease_ms, progress = coalesce(nullif(e->1, 'null'), r.progress)
      FROM jsonb_array_elements(running) AS e WHERE r.generation_id = ANY(ids) AND r.generation_id = e->>0;
    END IF;
  END $$`
]
