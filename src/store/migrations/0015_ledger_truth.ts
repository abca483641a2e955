/**
 * What is known of a request under way, and what becomes of an estimate when the truth comes late. Leases are told by the database's clock, so
 * that the clocks of the processes do not matter. A heartbeat renews the reservations that its process names, and writes how far each is.
 * Processes of the version before go on calling what they know.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** As in migration 0002. */
const planning = `SET enable_seqscan = off SET enable_nestloop = off SET jit = off SET plan_cache_mode = force_generic_plan`

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Unix milliseconds. Stable, so that an index is searched by it.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_now() RETURNS bigint LANGUAGE sql STABLE AS $$
      SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint
    $$`)

  // An array (store/ProgressRow.ts): what the request has produced so far and costs. Null: nobody said.
  yield* sql`ALTER TABLE reservations ADD COLUMN progress jsonb`

  // Adds a generation to the sums of its day, or takes it out of them.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_count(g generations, sign integer) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO usage_days AS u VALUES (g.key_id, g.created_at_ms / 86400000, g.model, g.provider, g.owner_id, sign,
        sign * (g.error_type IS NOT NULL)::integer, sign * g.cache_hit::integer, sign * g.prompt_tokens,
        sign * g.completion_tokens, sign * g.cached_tokens, sign * g.total_nano, sign * g.markup_nano,
        sign * g.billed_nano, CASE WHEN g.cache_hit THEN sign * g.cache_discount_nano ELSE 0 END)
      ON CONFLICT (key_id, day, model, provider) DO UPDATE
        SET requests = u.requests + excluded.requests, failed = u.failed + excluded.failed,
          cache_hits = u.cache_hits + excluded.cache_hits, prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = u.completion_tokens + excluded.completion_tokens,
          cached_tokens = u.cached_tokens + excluded.cached_tokens, total_nano = u.total_nano + excluded.total_nano,
          markup_nano = u.markup_nano + excluded.markup_nano, billed_nano = u.billed_nano + excluded.billed_nano,
          saved_nano = u.saved_nano + excluded.saved_nano;
      DELETE FROM usage_days WHERE key_id = g.key_id AND day = g.created_at_ms / 86400000 AND model = g.model
        AND provider = g.provider AND requests = 0;
    END $$`)

  // Takes estimates out of all books: their requests came to nothing.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_undo(ids text[]) RETURNS void LANGUAGE plpgsql ${planning} AS $$
    DECLARE
      key_ids text[];
      months text[];
      estimate generations;
    BEGIN
      SELECT array_agg(key_id), array_agg(month) INTO key_ids, months
        FROM generations WHERE id = ANY(ids) AND usage_source = 'estimated';
      IF key_ids IS NULL THEN
        RETURN;
      END IF;
      PERFORM ledger_lock(key_ids, months);
      FOR estimate IN DELETE FROM generations WHERE id = ANY(ids) AND usage_source = 'estimated' RETURNING * LOOP
        UPDATE budget_counters SET spent_nano = spent_nano - estimate.billed_nano
          WHERE key_id = estimate.key_id AND month = estimate.month;
        PERFORM ledger_count(estimate, -1);
      END LOOP;
    END $$`)

  // Puts a settled generation in the place of its estimate, in all books. What is beyond the key's cap is not charged. A generation that is no
  // estimate stays as it is, so this counts once.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_correct(e jsonb) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      estimate generations;
      truth generations;
      room bigint;
      uncharged bigint;
    BEGIN
      SELECT * INTO estimate FROM generations
        WHERE id = e->>0 AND key_id = e->>1 AND usage_source = 'estimated' AND e->>10 <> 'estimated' FOR UPDATE;
      IF estimate.id IS NULL THEN
        RETURN;
      END IF;
      SELECT coalesce(k.monthly_budget_nano - c.spent_nano - c.reserved_nano, 9007199254740991) INTO room
        FROM budget_counters AS c LEFT JOIN api_keys AS k ON k.id = c.key_id
        WHERE c.key_id = estimate.key_id AND c.month = estimate.month FOR UPDATE OF c;
      uncharged := greatest(0, (e->>16)::bigint - estimate.billed_nano - greatest(0, room));
      UPDATE generations SET model = e->>3, provider = e->>4, prompt_tokens = (e->>7)::bigint,
        completion_tokens = (e->>8)::bigint, cached_tokens = (e->>9)::bigint, usage_source = e->>10,
        prompt_nano = (e->>11)::bigint, completion_nano = (e->>12)::bigint, cache_discount_nano = (e->>13)::bigint,
        total_nano = (e->>14)::bigint, markup_nano = (e->>15)::bigint - uncharged,
        billed_nano = (e->>16)::bigint - uncharged, latency_ms = (e->>17)::double precision,
        time_to_first_token_ms = (e->>18)::double precision, fallback_used = (e->>19)::boolean,
        cache_hit = (e->>20)::boolean, streamed = (e->>21)::boolean, cancelled = (e->>22)::boolean,
        finish_reason = e->>23, error_type = e->>24, receipt = e->25
        WHERE id = estimate.id RETURNING * INTO truth;
      UPDATE budget_counters SET spent_nano = spent_nano - estimate.billed_nano + truth.billed_nano
        WHERE key_id = truth.key_id AND month = truth.month;
      PERFORM ledger_count(estimate, -1);
      PERFORM ledger_count(truth, 1);
    END $$`)

  // As before (migration 0004). What is settled and known already corrects an estimate. The ids that were
  // to be voided and were not reserved are answered too. An estimate is stored
  // only while its reservation has the lease and the amount that were read: two more values, the second of which the version before did not send.
  yield* sql.unsafe(`
    CREATE OR REPLACE FUNCTION ledger_end(settled jsonb, voided text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
    DECLARE
      settled_ids text[] := ARRAY(SELECT e->>0 FROM jsonb_array_elements(settled) AS e);
      changed_ids text[];
      known_ids text[];
      missing_ids text[];
    BEGIN
      WITH given AS MATERIALIZED (
        SELECT e->>0 AS id, e->>1 AS key_id, e->>2 AS owner_id, e->>3 AS model, e->>4 AS provider, e->>5 AS month,
          (e->>6)::bigint AS created_at_ms, (e->>7)::bigint AS prompt_tokens, (e->>8)::bigint AS completion_tokens,
          (e->>9)::bigint AS cached_tokens, e->>10 AS usage_source, (e->>11)::bigint AS prompt_nano,
          (e->>12)::bigint AS completion_nano, (e->>13)::bigint AS cache_discount_nano, (e->>14)::bigint AS total_nano,
          (e->>15)::bigint AS markup_nano, (e->>16)::bigint AS billed_nano, (e->>17)::double precision AS latency_ms,
          (e->>18)::double precision AS time_to_first_token_ms, (e->>19)::boolean AS fallback_used,
          (e->>20)::boolean AS cache_hit, (e->>21)::boolean AS streamed, (e->>22)::boolean AS cancelled,
          e->>23 AS finish_reason, e->>24 AS error_type, e->25 AS receipt, (e->>26)::bigint AS lease_until_ms,
          (e->>27)::bigint AS amount_nano
        FROM jsonb_array_elements(settled) AS e
      ), released AS (
        DELETE FROM reservations AS r USING given
        WHERE r.generation_id = ANY(settled_ids) AND r.generation_id = given.id AND r.key_id = given.key_id
          AND (given.lease_until_ms IS NULL
            OR given.lease_until_ms = r.lease_until_ms AND coalesce(given.amount_nano, given.billed_nano) = r.amount_nano)
        RETURNING r.generation_id, r.key_id, r.month, r.amount_nano
      ), taken_back AS (
        DELETE FROM reservations AS r WHERE r.generation_id = ANY(voided)
        RETURNING r.generation_id, r.key_id, r.month, r.amount_nano
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
        RETURNING g.id, g.key_id, g.owner_id, g.model, g.provider, g.month, g.created_at_ms, g.error_type, g.cache_hit,
          g.prompt_tokens, g.completion_tokens, g.cached_tokens, g.total_nano, g.markup_nano, g.billed_nano,
          g.cache_discount_nano
      ), used AS (
        INSERT INTO usage_days AS u
        SELECT key_id, created_at_ms / 86400000 AS day, model, provider, min(owner_id), count(*), count(error_type),
          count(*) FILTER (WHERE cache_hit), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(total_nano),
          sum(markup_nano), sum(billed_nano), coalesce(sum(cache_discount_nano) FILTER (WHERE cache_hit), 0)
        FROM stored GROUP BY key_id, day, model, provider ORDER BY key_id, day, model, provider
        ON CONFLICT (key_id, day, model, provider) DO UPDATE
          SET requests = u.requests + excluded.requests, failed = u.failed + excluded.failed,
            cache_hits = u.cache_hits + excluded.cache_hits, prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
            completion_tokens = u.completion_tokens + excluded.completion_tokens,
            cached_tokens = u.cached_tokens + excluded.cached_tokens, total_nano = u.total_nano + excluded.total_nano,
            markup_nano = u.markup_nano + excluded.markup_nano, billed_nano = u.billed_nano + excluded.billed_nano,
            saved_nano = u.saved_nano + excluded.saved_nano
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
      SELECT array_agg(given.id) FILTER (WHERE given.lease_until_ms IS NOT NULL),
        array_agg(given.id) FILTER (WHERE given.lease_until_ms IS NULL),
        (SELECT array_agg(id) FROM unnest(voided) AS id WHERE id NOT IN (SELECT generation_id FROM taken_back))
      INTO changed_ids, known_ids, missing_ids
      FROM given LEFT JOIN stored ON stored.id = given.id WHERE stored.id IS NULL;

      IF known_ids IS NOT NULL THEN
        PERFORM ledger_correct(e) FROM jsonb_array_elements(settled) AS e WHERE e->>0 = ANY(known_ids);
      END IF;
      RETURN QUERY SELECT unnest(changed_ids || missing_ids);
    END $$`)

  // As before (migration 0002), with the cap that the key has now, the lease from the database's clock, and what is known at the beginning: a
  // reservation has two more values, the length of its lease and its progress.
  yield* sql.unsafe(`
    CREATE OR REPLACE FUNCTION ledger_hold(asked jsonb, locked_key_ids text[], locked_months text[])
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
          coalesce(ledger_now() + (e->>10)::bigint, (e->>8)::bigint), e->>9, nullif(e->11, 'null')
        FROM jsonb_array_elements(asked) WITH ORDINALITY AS given(e, position) WHERE granted[position] AND e->>3 IS NOT NULL;
      END IF;
      UPDATE budget_counters AS c SET reserved_nano = c.reserved_nano + delta.amount
      FROM unnest(key_ids, months, added) AS delta(key_id, month, amount)
      WHERE c.key_id = ANY(key_ids) AND c.key_id = delta.key_id AND c.month = delta.month AND delta.amount <> 0;
    END $$`)

  // Renews the reservations named, each an array of id and progress; without a progress, what is known stays.
  yield* sql.unsafe(`
    CREATE FUNCTION ledger_beat(running jsonb, lease_ms bigint) RETURNS void LANGUAGE plpgsql
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
    END $$`)
})
