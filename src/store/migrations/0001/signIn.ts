/**
 * Sessions with all their refresh tokens, pending codes and OAuth flows, and the secrets that
 * processes share. Tokens and codes are stored as hashes only. `kept_secrets` holds secrets in
 * plain text (the key of those hashes, the private parts of signing keys): reading that table is
 * enough to sign in as any user.
 */

export const signIn = [
  `CREATE TABLE sessions (
    id text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES users (id),
    signed_in_by text NOT NULL,
    user_agent text,
    created_at_ms bigint NOT NULL,
    last_used_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    revoked_at_ms bigint
  )`,
  `CREATE INDEX sessions_user ON sessions (user_id, id DESC)`,
  `CREATE INDEX sessions_expiry ON sessions (expires_at_ms)`,

  `CREATE TABLE refresh_tokens (
    hash text COLLATE "C" PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    created_at_ms bigint NOT NULL,
    replaced_at_ms bigint
  )`,
  `CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id)`,

  // Exchanges a refresh token for its successor. The session's row is locked, so that concurrent
  // exchanges run one after the other.
  `CREATE FUNCTION session_rotate(old_hash text, next_hash text, now_ms bigint, grace_ms bigint, until_ms bigint)
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
  END $$`,

  // `network_hash`: the network that requested the code. Null: unknown.
  `CREATE TABLE sign_in_codes (
    id text COLLATE "C" PRIMARY KEY,
    channel text NOT NULL CHECK (channel IN ('email', 'sms')),
    destination text COLLATE "C" NOT NULL,
    code_hash text NOT NULL,
    attempts integer NOT NULL CHECK (attempts >= 0),
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    consumed_at_ms bigint,
    network_hash text
  )`,
  `CREATE INDEX sign_in_codes_destination ON sign_in_codes (destination, created_at_ms)`,
  `CREATE INDEX sign_in_codes_created ON sign_in_codes (created_at_ms)`,

  `CREATE TABLE oauth_flows (
    state_hash text COLLATE "C" PRIMARY KEY,
    browser_hash text NOT NULL,
    provider text NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    redirect_to text,
    expires_at_ms bigint NOT NULL
  )`,
  `CREATE INDEX oauth_flows_expiry ON oauth_flows (expires_at_ms)`,

  `CREATE TABLE kept_secrets (name text COLLATE "C" PRIMARY KEY, value text NOT NULL)`
]
