/** Events that no webhook accepted, and the budget alerts that were sent. */

export const webhooks = [
  `CREATE TABLE webhook_dead_letters (
    id text COLLATE "C" PRIMARY KEY,
    event_id text COLLATE "C" NOT NULL,
    type text NOT NULL,
    url text NOT NULL,
    body text NOT NULL,
    attempts integer NOT NULL,
    last_error text NOT NULL,
    created_at_ms bigint NOT NULL,
    failed_at_ms bigint NOT NULL
  )`,
  `CREATE INDEX webhook_dead_letters_failed ON webhook_dead_letters (failed_at_ms)`,

  `CREATE TABLE budget_notices (
    key_id text COLLATE "C" NOT NULL,
    month text COLLATE "C" NOT NULL,
    percent integer NOT NULL,
    cap_nano bigint NOT NULL,
    PRIMARY KEY (key_id, month, percent, cap_nano)
  )`
]
