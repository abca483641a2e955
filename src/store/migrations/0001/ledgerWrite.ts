/**
 * The only function that writes groups of ledger entries: one statement, so one round trip and one
 * commit.
 */
import { planning } from "./ledgerLocks.ts"

export const ledgerWrite = [
  // Entries that release budget run before entries that need some. Returns the refused entries.
  // `checked` holds the id, key, month, amount and cap of some of `settled`, which bill nothing.
  // These replayed answers are stored only if the amount of a fresh answer would fit below the cap.
  // They run first, so each meets the balance that was locked. A known id is not checked and is
  // settled like any other.
  `CREATE FUNCTION ledger_write(settled jsonb, voided text[], asked jsonb, checked jsonb)
  RETURNS TABLE (refused text, spent_nano bigint, reserved_nano bigint) LANGUAGE plpgsql ${planning} AS $$
  #variable_conflict use_column
  DECLARE
    key_ids text[];
    months text[];
    refused_ids text[];
    stored jsonb := settled;
  BEGIN
    SELECT array_agg(key_id), array_agg(month) INTO key_ids, months FROM (
      SELECT e->>1 AS key_id, e->>5 AS month FROM jsonb_array_elements(settled) AS e
      UNION SELECT e->>3, e->>4 FROM jsonb_array_elements(asked) AS e WHERE e->>3 IS NOT NULL
      UNION SELECT key_id, month FROM reservations WHERE generation_id = ANY(
        voided || ARRAY(SELECT e->>0 FROM jsonb_array_elements(settled || asked) AS e))
      UNION SELECT key_id, month FROM generations WHERE id = ANY(
        ARRAY(SELECT e->>0 FROM jsonb_array_elements(asked) AS e WHERE e->>3 IS NULL))
    ) AS one;
    IF key_ids IS NOT NULL THEN
      PERFORM ledger_lock(key_ids, months);
    END IF;

    IF jsonb_array_length(checked) > 0 THEN
      refused_ids := ARRAY(
        SELECT e->>0 FROM jsonb_array_elements(checked) AS e
        JOIN budget_counters AS c ON c.key_id = e->>1 AND c.month = e->>2
        WHERE c.key_id = ANY(key_ids) AND c.spent_nano + c.reserved_nano + (e->>3)::bigint > (e->>4)::bigint);
      IF cardinality(refused_ids) > 0 THEN
        refused_ids := ARRAY(
          SELECT unnest(refused_ids) EXCEPT (
            SELECT id FROM generations WHERE id = ANY(refused_ids)
            UNION SELECT generation_id FROM reservations WHERE generation_id = ANY(refused_ids)));
        stored := coalesce(
          (SELECT jsonb_agg(e) FROM jsonb_array_elements(settled) AS e WHERE e->>0 <> ALL(refused_ids)), '[]');
        RETURN QUERY SELECT e->>0, c.spent_nano, c.reserved_nano FROM jsonb_array_elements(checked) AS e
          JOIN budget_counters AS c ON c.key_id = e->>1 AND c.month = e->>2
          WHERE c.key_id = ANY(key_ids) AND e->>0 = ANY(refused_ids);
      END IF;
    END IF;

    IF jsonb_array_length(stored) > 0 OR cardinality(voided) > 0 THEN
      RETURN QUERY SELECT id, NULL::bigint, NULL::bigint FROM ledger_end(stored, voided) AS id;
    END IF;
    IF jsonb_array_length(asked) > 0 THEN
      RETURN QUERY SELECT * FROM ledger_hold(asked, key_ids, months);
    END IF;
  END $$`
]
