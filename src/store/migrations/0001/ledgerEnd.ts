/**
 * The functions that end requests in the ledger: settle, void, and replace an estimate that was
 * written in the meantime.
 */
import { planning } from "./ledgerLocks.ts"
import { addToDay } from "./usage.ts"

export const ledgerEnd = [
  // Replaces an estimate by the settled generation, in all tables. An amount beyond the key's cap
  // is not charged. A generation that is not an estimate stays unchanged, so that each request is
  // counted once.
  `CREATE FUNCTION ledger_correct(e jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
  END $$`,

  // Removes estimates from all tables, because their requests are voided.
  `CREATE FUNCTION ledger_undo(ids text[]) RETURNS void LANGUAGE plpgsql ${planning} AS $$
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
  END $$`,

  // Stores generations and removes their reservations, adds them to the usage of their days, and
  // removes the reservations of `voided`. A generation is an array: the columns in the order of the
  // table. An estimate has two more values, the lease and the amount of its reservation as they
  // were read, and is stored only while the reservation still has both. A known generation replaces
  // its estimate. Returns the ids of the estimates that were not stored, and of those in `voided`
  // that have no reservation.
  `CREATE FUNCTION ledger_end(settled jsonb, voided text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
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
          OR given.lease_until_ms = r.lease_until_ms AND given.amount_nano = r.amount_nano)
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
      ${addToDay}
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
  END $$`
]
