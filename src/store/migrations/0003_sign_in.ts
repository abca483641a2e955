/**
 * People, the identities that lead to them, their sessions with every refresh token these ever had, the codes and OAuth flows under
 * way, and the secrets that processes share. Tokens and codes are here as hashes only; `kept_secrets` holds what must be known
 * itself (the pepper of those hashes, the private parts of signing keys), so whoever reads that table can sign in as anybody.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Names the lock under which accounts are made: the bytes of `user`. */
const LOCK_ID = 0x75736572

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE users (
    id text COLLATE "C" PRIMARY KEY,
    email text COLLATE "C" UNIQUE,
    phone text COLLATE "C" UNIQUE,
    role text NOT NULL CHECK (role IN ('user', 'admin')),
    state text NOT NULL CHECK (state IN ('active', 'suspended')),
    granted_tier text NOT NULL CHECK (granted_tier IN ('free', 'pro', 'enterprise')),
    granted_budget_nano bigint CHECK (granted_budget_nano >= 0),
    granted_scopes text[] NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    last_sign_in_at_ms bigint
  )`

  yield* sql`CREATE TABLE identities (
    provider text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL REFERENCES users (id),
    email text,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (provider, subject)
  )`
  yield* sql`CREATE INDEX identities_user ON identities (user_id)`

  // Keys of these owners open nothing.
  yield* sql`CREATE TABLE suspended_owners (owner_id text COLLATE "C" PRIMARY KEY)`

  yield* sql`CREATE TABLE sessions (
    id text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES users (id),
    signed_in_by text NOT NULL,
    user_agent text,
    created_at_ms bigint NOT NULL,
    last_used_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    revoked_at_ms bigint
  )`
  yield* sql`CREATE INDEX sessions_user ON sessions (user_id, id DESC)`
  yield* sql`CREATE INDEX sessions_expiry ON sessions (expires_at_ms)`

  yield* sql`CREATE TABLE refresh_tokens (
    hash text COLLATE "C" PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    created_at_ms bigint NOT NULL,
    replaced_at_ms bigint
  )`
  yield* sql`CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id)`

  yield* sql`CREATE TABLE sign_in_codes (
    id text COLLATE "C" PRIMARY KEY,
    channel text NOT NULL CHECK (channel IN ('email', 'sms')),
    destination text COLLATE "C" NOT NULL,
    code_hash text NOT NULL,
    attempts integer NOT NULL CHECK (attempts >= 0),
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    consumed_at_ms bigint
  )`
  yield* sql`CREATE INDEX sign_in_codes_destination ON sign_in_codes (destination, created_at_ms)`
  yield* sql`CREATE INDEX sign_in_codes_created ON sign_in_codes (created_at_ms)`

  yield* sql`CREATE TABLE oauth_flows (
    state_hash text COLLATE "C" PRIMARY KEY,
    browser_hash text NOT NULL,
    provider text NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    redirect_to text,
    expires_at_ms bigint NOT NULL
  )`
  yield* sql`CREATE INDEX oauth_flows_expiry ON oauth_flows (expires_at_ms)`

  yield* sql`CREATE TABLE kept_secrets (name text COLLATE "C" PRIMARY KEY, value text NOT NULL)`

  yield* sql`CREATE INDEX generations_owner ON generations (owner_id, created_at_ms) WHERE owner_id IS NOT NULL`

  // Who an identity belongs to: whoever has it, else whoever has its proved address or number, else the given new user. An account is
  // made, or gets an identity, under one lock, so that two sign-ins at once find one account.
  yield* sql.unsafe(`
    CREATE FUNCTION user_adopt(identity jsonb, new_user jsonb) RETURNS TABLE (outcome text, member users) LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      owner text;
      how text := 'known';
    BEGIN
      SELECT i.user_id INTO owner FROM identities AS i
        WHERE i.provider = identity->>'provider' AND i.subject = identity->>'subject';
      IF owner IS NULL THEN
        PERFORM pg_advisory_xact_lock(${LOCK_ID});
        SELECT i.user_id INTO owner FROM identities AS i
          WHERE i.provider = identity->>'provider' AND i.subject = identity->>'subject';
      END IF;
      IF owner IS NULL THEN
        SELECT u.id INTO owner FROM users AS u
          WHERE u.email = new_user->>'email' OR u.phone = new_user->>'phone' ORDER BY u.id LIMIT 1;
        how := 'linked';
        IF owner IS NULL THEN
          INSERT INTO users SELECT * FROM jsonb_populate_record(null::users, new_user) RETURNING id INTO owner;
          how := 'created';
        END IF;
        INSERT INTO identities (provider, subject, user_id, email, created_at_ms)
          VALUES (identity->>'provider', identity->>'subject', owner, identity->>'email', (identity->>'created_at_ms')::bigint);
      END IF;
      RETURN QUERY SELECT how, u FROM users AS u WHERE u.id = owner;
    END $$`)

  // Trades a refresh token for its successor. The session's row is locked, so that of two trades at once one comes second.
  yield* sql.unsafe(`
    CREATE FUNCTION session_rotate(old_hash text, next_hash text, now_ms bigint, grace_ms bigint, until_ms bigint)
    RETURNS TABLE (outcome text, family sessions) LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      session text;
      ended boolean;
      replaced bigint;
      next_replaced bigint;
      how text;
    BEGIN
      SELECT t.session_id INTO session FROM refresh_tokens AS t WHERE t.hash = old_hash;
      IF session IS NULL THEN
        RETURN;
      END IF;
      SELECT s.revoked_at_ms IS NOT NULL OR s.expires_at_ms <= now_ms INTO ended FROM sessions AS s
        WHERE s.id = session FOR UPDATE;
      IF NOT FOUND THEN
        RETURN;
      END IF;
      SELECT t.replaced_at_ms INTO replaced FROM refresh_tokens AS t WHERE t.hash = old_hash;
      SELECT t.replaced_at_ms INTO next_replaced FROM refresh_tokens AS t WHERE t.hash = next_hash;
      IF ended THEN
        how := 'ended';
      ELSIF replaced IS NULL THEN
        how := 'rotated';
        UPDATE refresh_tokens SET replaced_at_ms = now_ms WHERE hash = old_hash;
        INSERT INTO refresh_tokens (hash, session_id, created_at_ms) VALUES (next_hash, session, now_ms);
        UPDATE sessions SET last_used_at_ms = now_ms, expires_at_ms = until_ms WHERE id = session;
      ELSIF next_replaced IS NULL AND now_ms - replaced <= grace_ms THEN
        how := 'repeated';
      ELSE
        how := 'reused';
        UPDATE sessions SET revoked_at_ms = now_ms WHERE id = session;
      END IF;
      RETURN QUERY SELECT how, s FROM sessions AS s WHERE s.id = session;
    END $$`)
})
