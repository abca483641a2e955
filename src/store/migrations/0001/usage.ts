/**
 * Usage per UTC day, key, model and provider. It stays when generations are deleted. A writer holds
 * the lock of the counter of the key and month, which also protects these rows.
 */

/** The end of an insert into `usage_days AS u`: adds the new sums to those of an existing row. */
export const addToDay = `ON CONFLICT (key_id, day, model, provider) DO UPDATE
  SET requests = u.requests + excluded.requests, failed = u.failed + excluded.failed,
    cache_hits = u.cache_hits + excluded.cache_hits, prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = u.completion_tokens + excluded.completion_tokens,
    cached_tokens = u.cached_tokens + excluded.cached_tokens, total_nano = u.total_nano + excluded.total_nano,
    markup_nano = u.markup_nano + excluded.markup_nano, billed_nano = u.billed_nano + excluded.billed_nano,
    saved_nano = u.saved_nano + excluded.saved_nano`

export const usage = [
  // `day`: days since 1970.
  `CREATE TABLE usage_days (
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
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX usage_days_day ON usage_days (day)`,
  `CREATE INDEX usage_days_owner ON usage_days (owner_id, day) WHERE owner_id IS NOT NULL`,

  // Adds a generation to the sums of its day (sign 1), or subtracts it (sign -1).
  `CREATE FUNCTION ledger_count(g generations, sign integer) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO usage_days AS u VALUES (g.key_id, g.created_at_ms / 86400000, g.model, g.provider, g.owner_id, sign,
      sign * (g.error_type IS NOT NULL)::integer, sign * g.cache_hit::integer, sign * g.prompt_tokens,
      sign * g.completion_tokens, sign * g.cached_tokens, sign * g.total_nano, sign * g.markup_nano,
      sign * g.billed_nano, CASE WHEN g.cache_hit THEN sign * g.cache_discount_nano ELSE 0 END)
    ${addToDay};
    DELETE FROM usage_days WHERE key_id = g.key_id AND day = g.created_at_ms / 86400000 AND model = g.model
      AND provider = g.provider AND requests = 0;
  END $$`
]
