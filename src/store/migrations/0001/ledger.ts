/**
 * The tables of the ledger: what each key has spent and reserved in each month, the reservations of
 * running requests with their leases, and the generations. Every request changes a counter's row,
 * so the pages of counters keep free space for that.
 */

export const ledger = [
  `CREATE TABLE budget_counters (
    key_id text COLLATE "C" NOT NULL,
    month text COLLATE "C" NOT NULL CHECK (month ~ '^[0-9]{4}-[0-9]{2}$'),
    spent_nano bigint NOT NULL CHECK (spent_nano >= 0),
    reserved_nano bigint NOT NULL CHECK (reserved_nano >= 0),
    PRIMARY KEY (key_id, month)
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX budget_counters_month ON budget_counters (month)`,

  // `extended_nano`: the part of the amount that was added later. `progress` (ProgressRow.ts): what
  // the request has produced so far and what that costs. Null: unknown.
  `CREATE TABLE reservations (
    generation_id text COLLATE "C" PRIMARY KEY,
    key_id text COLLATE "C" NOT NULL,
    owner_id text COLLATE "C",
    model text NOT NULL,
    month text COLLATE "C" NOT NULL,
    amount_nano bigint NOT NULL CHECK (amount_nano >= 0),
    created_at_ms bigint NOT NULL,
    lease_until_ms bigint NOT NULL,
    process_id text NOT NULL,
    extended_nano bigint NOT NULL DEFAULT 0 CHECK (extended_nano BETWEEN 0 AND amount_nano),
    progress jsonb
  )`,
  `CREATE INDEX reservations_lease ON reservations (lease_until_ms)`,

  // The ledger's functions take a generation as an array in the order of these columns. Lists run
  // by id, newest first. The indexes find rare rows without reading those in between.
  `CREATE TABLE generations (
    id text COLLATE "C" PRIMARY KEY,
    key_id text COLLATE "C" NOT NULL,
    owner_id text COLLATE "C",
    model text NOT NULL,
    provider text NOT NULL,
    month text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    prompt_tokens bigint NOT NULL CHECK (prompt_tokens >= 0),
    completion_tokens bigint NOT NULL CHECK (completion_tokens >= 0),
    cached_tokens bigint NOT NULL CHECK (cached_tokens >= 0),
    usage_source text NOT NULL CHECK (usage_source IN ('provider', 'counted', 'estimated', 'cache')),
    prompt_nano bigint NOT NULL,
    completion_nano bigint NOT NULL,
    cache_discount_nano bigint NOT NULL,
    total_nano bigint NOT NULL,
    markup_nano bigint NOT NULL,
    billed_nano bigint NOT NULL CHECK (billed_nano >= 0),
    latency_ms double precision NOT NULL,
    time_to_first_token_ms double precision,
    fallback_used boolean NOT NULL,
    cache_hit boolean NOT NULL,
    streamed boolean NOT NULL,
    cancelled boolean NOT NULL,
    finish_reason text,
    error_type text,
    receipt jsonb NOT NULL
  )`,
  `CREATE INDEX generations_created ON generations (created_at_ms)`,
  `CREATE INDEX generations_key ON generations (key_id, id DESC)`,
  `CREATE INDEX generations_owner ON generations (owner_id, id DESC) WHERE owner_id IS NOT NULL`,
  `CREATE INDEX generations_model ON generations (model, id DESC)`,
  `CREATE INDEX generations_provider ON generations (provider, id DESC)`,
  `CREATE INDEX generations_failed ON generations (id DESC) WHERE error_type IS NOT NULL`
]
