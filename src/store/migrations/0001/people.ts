/** Users, their identities, and the functions that find or create the user of a new identity. */

/** The key of the lock for creating users and linking identities: the bytes of `user`. */
const LOCK_ID = 0x75736572

export const people = [
  `CREATE TABLE users (
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
  )`,
  `CREATE INDEX users_created ON users (created_at_ms)`,

  // One mailbox may have many addresses. Equals src/domain/Mailbox.ts.
  `CREATE FUNCTION mailbox_of(address text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN domain IN ('gmail.com', 'googlemail.com') THEN replace(kept, '.', '') || '@gmail.com'
                ELSE kept || '@' || domain END
    FROM (SELECT coalesce(nullif(split_part(split_part(address, '@', 1), '+', 1), ''), split_part(address, '@', 1)) AS kept,
                 split_part(address, '@', 2) AS domain) AS parts
  $$`,
  `CREATE INDEX users_mailbox ON users (mailbox_of(email))`,

  `CREATE TABLE identities (
    provider text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL REFERENCES users (id),
    email text,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (provider, subject)
  )`,
  `CREATE INDEX identities_user ON identities (user_id)`,

  // Keys of these owners are refused.
  `CREATE TABLE suspended_owners (owner_id text COLLATE "C" PRIMARY KEY)`,

  // The user of an identity: the one who has it, else the one with its verified address or number,
  // else the given new user. Creating and linking run under one lock, so that two concurrent
  // sign-ins find one user.
  `CREATE FUNCTION user_adopt(identity jsonb, new_user jsonb) RETURNS TABLE (outcome text, member users)
  LANGUAGE plpgsql AS $$
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
  END $$`,

  // Like user_adopt, within rules: a limit on the users created since a moment, no grants for a
  // second user of a mailbox, and proof from an admin before a new identity is linked to the
  // admin's account. When a rule refuses, nothing is written and `member` is null.
  `CREATE FUNCTION user_admit(identity jsonb, new_user jsonb, rules jsonb) RETURNS TABLE (outcome text, member users)
  LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    owner users;
    how text;
  BEGIN
    PERFORM 1 FROM identities AS i WHERE i.provider = identity->>'provider' AND i.subject = identity->>'subject';
    IF NOT FOUND THEN
      PERFORM pg_advisory_xact_lock(${LOCK_ID});
      PERFORM 1 FROM identities AS i WHERE i.provider = identity->>'provider' AND i.subject = identity->>'subject';
      IF NOT FOUND THEN
        SELECT u.* INTO owner FROM users AS u
          WHERE u.email = new_user->>'email' OR u.phone = new_user->>'phone' ORDER BY u.id LIMIT 1;
        IF FOUND THEN
          IF rules ? 'proven_id' AND owner.role = 'admin' AND owner.last_sign_in_at_ms IS NOT NULL
             AND owner.id IS DISTINCT FROM rules->>'proven_id' THEN
            how := 'unproven';
          END IF;
        ELSIF NOT (rules->>'may_create')::boolean THEN
          how := 'closed';
        ELSIF (SELECT count(*) FROM users AS u WHERE u.created_at_ms > (rules->>'created_since_ms')::bigint)
              >= (rules->>'max_created')::bigint THEN
          how := 'full';
        ELSIF EXISTS (SELECT 1 FROM users AS u WHERE mailbox_of(u.email) = mailbox_of(new_user->>'email')) THEN
          new_user := jsonb_set(new_user, '{granted_budget_nano}', '0');
        END IF;
      END IF;
    END IF;
    IF how IS NOT NULL THEN
      RETURN QUERY SELECT how, null::users;
    ELSE
      RETURN QUERY SELECT * FROM user_adopt(identity, new_user);
    END IF;
  END $$`
]
