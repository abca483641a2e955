/**
 * What the gateway answered to requests with an `Idempotency-Key` (replies sealed with a key that is not in here), and what was used on
 * each UTC day, which stays when generations are deleted. Both grow with traffic, so nothing reads all of either, nor of the
 * generations: those that failed get an index of their own.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE idempotency_keys (
    id text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    fingerprint text NOT NULL,
    lease_until_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    reply bytea
  )`
  // Replies come compressed.
  yield* sql`ALTER TABLE idempotency_keys ALTER COLUMN reply SET STORAGE EXTERNAL`
  yield* sql`CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at_ms)`

  yield* sql`CREATE INDEX generations_failed ON generations (id DESC) WHERE error_type IS NOT NULL`

  // `day`: days since 1970, UTC.
  yield* sql`CREATE TABLE usage_days (
    key_id text COLLATE "C" NOT NULL,
    day integer NOT NULL,
    model text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    owner_id text COLLATE "C",
    requests bigint NOT NULL,
    failed bigint NOT NULL,
    cache_hits bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    total_nano bigint NOT NULL,
    markup_nano bigint NOT NULL,
    billed_nano bigint NOT NULL,
    saved_nano bigint NOT NULL,
    PRIMARY KEY (key_id, day, model, provider)
  ) WITH (fillfactor = 50)`
  yield* sql`CREATE INDEX usage_days_day ON usage_days (day)`

  // What is settled meanwhile waits, so that it is counted once: here, or by the function below.
  yield* sql`LOCK TABLE generations IN SHARE MODE`
  yield* sql`INSERT INTO usage_days
    SELECT key_id, created_at_ms / 86400000, model, provider, min(owner_id), count(*), count(error_type),
      count(*) FILTER (WHERE cache_hit), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(total_nano),
      sum(markup_nano), sum(billed_nano), coalesce(sum(cache_discount_nano) FILTER (WHERE cache_hit), 0)
    FROM generations GROUP BY 1, 2, 3, 4`

  // As before (migration 0002), and adds what was stored to its days. The locks of the counters hold for these rows too: a row is of
  // one key and one month.
  yield* sql.unsafe(`
    CREATE OR REPLACE FUNCTION ledger_end(settled jsonb, voided text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
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
      SELECT given.id FROM given LEFT JOIN stored ON stored.id = given.id
      WHERE given.lease_until_ms IS NOT NULL AND stored.id IS NULL;
    END $$`)
})
