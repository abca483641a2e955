/**
 * Replies to requests with an `Idempotency-Key`. They are compressed and encrypted with a key that
 * is not in the database. `lease_until_ms`: when the claim of a running request expires.
 */

export const replies = [
  `CREATE TABLE idempotency_keys (
    id text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    fingerprint text NOT NULL,
    lease_until_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    reply bytea
  )`,
  `ALTER TABLE idempotency_keys ALTER COLUMN reply SET STORAGE EXTERNAL`,
  `CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at_ms)`
]
