/**
 * What the gateway answered to requests with an `Idempotency-Key`. Replies are sealed with a key
 * that is not in here, and come compressed. `lease_until_ms`: how long the request that is under
 * way has its turn.
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
