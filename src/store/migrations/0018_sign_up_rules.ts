/**
 * Rules of new accounts: how many there may be since a moment, nothing granted to the second account of a mailbox, and proof from an
 * admin before a new identity leads to the admin's account.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The lock of migration 0003, under which accounts are made. */
const LOCK_ID = 0x75736572

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The same as src/domain/Mailbox.ts.
  yield* sql.unsafe(`
    CREATE FUNCTION mailbox_of(address text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE WHEN domain IN ('gmail.com', 'googlemail.com') THEN replace(kept, '.', '') || '@gmail.com'
                  ELSE kept || '@' || domain END
      FROM (SELECT coalesce(nullif(split_part(split_part(address, '@', 1), '+', 1), ''), split_part(address, '@', 1)) AS kept,
                   split_part(address, '@', 2) AS domain) AS parts
    $$`)
  yield* sql`CREATE INDEX users_mailbox ON users (mailbox_of(email))`
  yield* sql`CREATE INDEX users_created ON users (created_at_ms)`

  // As user_adopt of migration 0003, within rules. Where they refuse, nothing is written and there is no member.
  yield* sql.unsafe(`
    CREATE FUNCTION user_admit(identity jsonb, new_user jsonb, rules jsonb) RETURNS TABLE (outcome text, member users) LANGUAGE plpgsql AS $$
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
    END $$`)
})
