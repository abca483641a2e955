/**
 * Shared by all functions of the ledger: the clock of the leases, and the lock of the counters. A
 * function that changes counters, or entries that they sum up, first locks the counters concerned,
 * in the order of key and month. It then sees all that was committed under these locks, and two
 * groups of entries never deadlock.
 */

/**
 * Settings of the functions that clients call, and so of the functions that these call: tables are
 * read by the index of a list of ids, and lists are joined by hashing. Such plans stay right while
 * the tables grow, so a connection keeps one plan.
 */
export const planning =
  "SET enable_seqscan = off SET enable_nestloop = off SET jit = off SET plan_cache_mode = force_generic_plan"

export const ledgerLocks = [
  // Unix milliseconds by the database's clock, so that the clocks of the processes need not agree.
  // It is stable, so that it can be searched for in an index.
  `CREATE FUNCTION ledger_now() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint
  $$`,

  // Creates missing counters, then locks all of them, both in the same order.
  `CREATE FUNCTION ledger_lock(key_ids text[], months text[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO budget_counters (key_id, month, spent_nano, reserved_nano)
      SELECT DISTINCT one.key_id COLLATE "C" AS key_id, one.month COLLATE "C" AS month, 0, 0
      FROM unnest(key_ids, months) AS one(key_id, month) ORDER BY key_id, month
      ON CONFLICT DO NOTHING;
    PERFORM FROM budget_counters AS c JOIN unnest(key_ids, months) AS one(key_id, month)
      ON c.key_id = one.key_id AND c.month = one.month
      WHERE c.key_id = ANY(key_ids) ORDER BY c.key_id, c.month FOR UPDATE OF c;
  END $$`
]
