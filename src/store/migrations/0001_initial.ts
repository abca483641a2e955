/**
 * Keys, what each has spent and reserved in each month, the reservations of requests under way, and the generations. Times are Unix
 * milliseconds, money is nano-USD. Identifiers compare byte by byte (`COLLATE "C"`), as JavaScript does.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE api_keys (
    id text COLLATE "C" PRIMARY KEY,
    public_id text COLLATE "C" NOT NULL UNIQUE,
    secret_hash text NOT NULL,
    previous_secret_hash text,
    previous_valid_until_ms bigint,
    prefix text NOT NULL,
    name text NOT NULL,
    tier text NOT NULL CHECK (tier IN ('free', 'pro', 'enterprise')),
    scopes text[] NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'disabled', 'revoked')),
    monthly_budget_nano bigint CHECK (monthly_budget_nano >= 0),
    allowed_models text[],
    owner_id text COLLATE "C",
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    last_used_at_ms bigint,
    expires_at_ms bigint,
    revoked_at_ms bigint
  )`
  yield* sql`CREATE INDEX api_keys_owner ON api_keys (owner_id, id DESC)`

  yield* sql`CREATE TABLE budget_counters (
    key_id text COLLATE "C" NOT NULL,
    month text COLLATE "C" NOT NULL CHECK (month ~ '^[0-9]{4}-[0-9]{2}$'),
    spent_nano bigint NOT NULL CHECK (spent_nano >= 0),
    reserved_nano bigint NOT NULL CHECK (reserved_nano >= 0),
    PRIMARY KEY (key_id, month)
  ) WITH (fillfactor = 50)`
  yield* sql`CREATE INDEX budget_counters_month ON budget_counters (month)`

  yield* sql`CREATE TABLE reservations (
    generation_id text COLLATE "C" PRIMARY KEY,
    key_id text COLLATE "C" NOT NULL,
    owner_id text COLLATE "C",
    model text NOT NULL,
    month text COLLATE "C" NOT NULL,
    amount_nano bigint NOT NULL CHECK (amount_nano >= 0),
    created_at_ms bigint NOT NULL,
    lease_until_ms bigint NOT NULL,
    process_id text NOT NULL
  )`
  yield* sql`CREATE INDEX reservations_lease ON reservations (lease_until_ms)`

  yield* sql`CREATE TABLE generations (
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
  )`
  yield* sql`CREATE INDEX generations_key ON generations (key_id, id DESC)`
  yield* sql`CREATE INDEX generations_created ON generations (created_at_ms)`
})
