/**
 * API keys. Their secrets are stored as hashes only. `privacy`: settings of the privacy guard of a
 * key, in addition to those of the deployment. Null: none.
 */

export const keys = [
  `CREATE TABLE api_keys (
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
    revoked_at_ms bigint,
    privacy text CHECK (privacy IN ('mask', 'block'))
  )`,
  `CREATE INDEX api_keys_owner ON api_keys (owner_id, id DESC)`
]
