/**
 * The ledger's group writes, as functions: a group of entries is one statement, so one round trip and one commit. Whatever
 * changes counters or the entries that they sum up first locks the counters concerned, in the order of key and month: it then sees
 * all that was committed under them, and two groups never wait for each other. A reservation also keeps how much of it was added later.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * For the functions that clients call, and for those that these call: tables are reached by the index of a list of ids, and lists are
 * joined by hashing. Such plans stay right while the tables grow, so one plan serves a connection for good.
 */
const planning = `SET enable_seqscan = off SET enable_nestloop = off SET jit = off SET plan_cache_mode = force_generic_plan`

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE reservations ADD COLUMN extended_nano bigint NOT NULL DEFAULT 0 CHECK (extended_nano BETWEEN 0 AND amount_nano)`

  // Makes the counters that are missing, then locks all of them; both in one order.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_lock(key_ids text[], months text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO budget_counters (key_id, month, spent_nano, reserved_nano)
        SELECT DISTINCT one.key_id COLLATE "C" AS key_id, one.month COLLATE "C" AS month, 0, 0
        FROM unnest(key_ids, months) AS one(key_id, month) ORDER BY key_id, month
        ON CONFLICT DO NOTHING;
      PERFORM FROM budget_counters AS c JOIN unnest(key_ids, months) AS one(key_id, month)
        ON c.key_id = one.key_id AND c.month = one.month
        WHERE c.key_id = ANY(key_ids) ORDER BY c.key_id, c.month FOR UPDATE OF c;
    END $$`)

  // Stores the generations in place of their reservations, and takes back the reservations of \`voided\`. A generation is an array:
  // its columns in the order of the table's, then the lease that its reservation must still have, or null. With a lease, the
  // generation is stored only if its reservation is as it was read; the ids of those that were not are answered.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_end(settled jsonb, voided text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
    DECLARE
      settled_ids text[] := ARRAY(SELECT e->>0 FROM jsonb_array_elements(settled) AS e);
    BEGIN
      RETURN QUERY
      WITH given AS MATERIALIZED (
        SELECT e->>0 AS id, e->>1 AS key_id, e->>2 AS owner_id, e->>3 AS model, e->>4 AS provider, e->>5 AS month,
          (e->>6)::bigint AS created_at_ms, (e->>7)::bigint AS prompt_tokens, (e->>8)::bigint AS completion_tokens,
          (e->>9)::bigint AS cached_tokens, e->>10 AS usage_source, (e->>11)::bigint AS prompt_nano,
          (e->>12)::bigint AS completion_nano, (e->>13)::bigint AS cache_discount_nano, (e->>14)::bigint AS total_nano,
          (e->>15)::bigint AS markup_nano, (e->>16)::bigint AS billed_nano, (e->>17)::double precision AS latency_ms,
          (e->>18)::double precision AS time_to_first_token_ms, (e->>19)::boolean AS fallback_used,
          (e->>20)::boolean AS cache_hit, (e->>21)::boolean AS streamed, (e->>22)::boolean AS cancelled,
          e->>23 AS finish_reason, e->>24 AS error_type, e->25 AS receipt, (e->>26)::bigint AS lease_until_ms
        FROM jsonb_array_elements(settled) AS e
      ), released AS (
        DELETE FROM reservations AS r USING given
        WHERE r.generation_id = ANY(settled_ids) AND r.generation_id = given.id AND r.key_id = given.key_id
          AND (given.lease_until_ms IS NULL
            OR given.lease_until_ms = r.lease_until_ms AND given.billed_nano = r.amount_nano)
        RETURNING r.generation_id, r.key_id, r.month, r.amount_nano
      ), taken_back AS (
        DELETE FROM reservations AS r WHERE r.generation_id = ANY(voided) RETURNING r.key_id, r.month, r.amount_nano
      ), stored AS (
        INSERT INTO generations AS g (id, key_id, owner_id, model, provider, month, created_at_ms, prompt_tokens,
          completion_tokens, cached_tokens, usage_source, prompt_nano, completion_nano, cache_discount_nano, total_nano,
          markup_nano, billed_nano, latency_ms, time_to_first_token_ms, fallback_used, cache_hit, streamed, cancelled,
          finish_reason, error_type, receipt)
        SELECT given.id, given.key_id, owner_id, model, provider, coalesce(released.month, given.month), created_at_ms,
          prompt_tokens, completion_tokens, cached_tokens, usage_source, prompt_nano, completion_nano,
          cache_discount_nano, total_nano, markup_nano, billed_nano, latency_ms, time_to_first_token_ms, fallback_used,
          cache_hit, streamed, cancelled, finish_reason, error_type, receipt
        FROM given LEFT JOIN released ON released.generation_id = given.id
        WHERE given.lease_until_ms IS NULL OR released.generation_id IS NOT NULL
        ON CONFLICT (id) DO NOTHING
        RETURNING g.id, g.key_id, g.month, g.billed_nano
      ), changed AS (
        UPDATE budget_counters AS c
        SET spent_nano = c.spent_nano + delta.spent, reserved_nano = c.reserved_nano - delta.released
        FROM (
          SELECT key_id, month, sum(spent)::bigint AS spent, sum(released)::bigint AS released FROM (
            SELECT key_id, month, billed_nano AS spent, 0 AS released FROM stored
            UNION ALL SELECT key_id, month, 0, amount_nano FROM released
            UNION ALL SELECT key_id, month, 0, amount_nano FROM taken_back
          ) AS one GROUP BY key_id, month
        ) AS delta
        WHERE c.key_id = delta.key_id AND c.month = delta.month
          AND c.key_id = ANY(ARRAY(SELECT key_id FROM stored UNION SELECT key_id FROM released UNION SELECT key_id FROM taken_back))
      )
      SELECT given.id FROM given LEFT JOIN stored ON stored.id = given.id
      WHERE given.lease_until_ms IS NOT NULL AND stored.id IS NULL;
    END $$`)

  // Adds to what is held, entry by entry in the order given, what fits below its cap. An entry is an array: id, amount and cap of an
  // extension, then for a reservation key, month, owner, model, beginning, lease, process. Answers the refused ones, each with the
  // balance that it met. Of an extension only the counter that was locked counts: a reservation that came after that is not there yet.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_hold(asked jsonb, locked_key_ids text[], locked_months text[])
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
          SELECT entry.position, entry.id, entry.amount, entry.cap, coalesce(entry.key_id, found.key_id) AS key_id,
            coalesce(entry.month, found.month) AS month, entry.key_id IS NULL AS extension, found.pending
          FROM entry LEFT JOIN found ON found.id = entry.id
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
          process_id)
        SELECT e->>0, e->>3, e->>5, e->>6, e->>4, (e->>1)::bigint, (e->>7)::bigint, (e->>8)::bigint, e->>9
        FROM jsonb_array_elements(asked) WITH ORDINALITY AS given(e, position) WHERE granted[position] AND e->>3 IS NOT NULL;
      END IF;
      UPDATE budget_counters AS c SET reserved_nano = c.reserved_nano + delta.amount
      FROM unnest(key_ids, months, added) AS delta(key_id, month, amount)
      WHERE c.key_id = ANY(key_ids) AND c.key_id = delta.key_id AND c.month = delta.month AND delta.amount <> 0;
    END $$`)

  // A group: what frees a budget comes before what asks for some. Answers the entries that were not carried out.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_write(settled jsonb, voided text[], asked jsonb)
    RETURNS TABLE (refused text, spent_nano bigint, reserved_nano bigint) LANGUAGE plpgsql ${planning} AS $$
    #variable_conflict use_column
    DECLARE
      key_ids text[];
      months text[];
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
      IF jsonb_array_length(settled) > 0 OR cardinality(voided) > 0 THEN
        RETURN QUERY SELECT id, NULL::bigint, NULL::bigint FROM ledger_end(settled, voided) AS id;
      END IF;
      IF jsonb_array_length(asked) > 0 THEN
        RETURN QUERY SELECT * FROM ledger_hold(asked, key_ids, months);
      END IF;
    END $$`)

  // Moves the lease of a process's reservations.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_renew(process text, until_ms bigint) RETURNS void LANGUAGE plpgsql ${planning} AS $$
    DECLARE
      ids text[];
      key_ids text[];
      months text[];
    BEGIN
      SELECT array_agg(generation_id), array_agg(key_id), array_agg(month) INTO ids, key_ids, months
        FROM reservations WHERE process_id = process;
      IF ids IS NOT NULL THEN
        PERFORM ledger_lock(key_ids, months);
        UPDATE reservations SET lease_until_ms = until_ms WHERE generation_id = ANY(ids) AND lease_until_ms <> until_ms;
      END IF;
    END $$`)
})
