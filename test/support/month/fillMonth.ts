/**
 * A month of traffic in a migrated database: 50 users, 5,000 keys, 100,000 generations and 4,000
 * refusals, the same whenever it is filled except that all moments are before `nowMs`. Counters and
 * usage reports agree with the generations. From 27 to 26 hours
 * before `nowMs`, `delta` was down.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { makeDice } from "../../../scripts/privacyEval/Dice.ts"
import { allScopes } from "../../../src/domain/Key.ts"
import { generationColumns, generationValues } from "../../../src/store/ledger/GenerationRow.ts"
import { drawEnding } from "./endings.ts"

export const month = { users: 50, keys: 5_000, generations: 100_000, refusals: 4_000, days: 30 }

/** The address of a user. */
export const addressOf = (user: number): string => `${names[user % names.length]}.${user}@example.com`
const names = ["anna", "bob", "carla", "dmitri", "elena", "farid", "grace", "hugo", "ines", "jonas"]

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SEED = 20_261_122
/** Drawn endings, which all generations share. */
const ENDINGS = 2_000
const ENDINGS_OF_OUTAGE = 200

const endingsOf = (count: number, down: string | null) => {
  const dice = makeDice(SEED + (down === null ? 0 : 1))
  return Array.from({ length: count }, () =>
    generationValues({ ...drawEnding(dice, down), id: "", keyId: "", ownerId: null, createdAtMs: 0 }, "")
  )
}

/** A pseudo-random integer from 0 to `below`, by two numbers. */
const draw = (n: string, salt: number, below: number) => `((hashint8extended(${n}, ${salt}) & 1073741823) % ${below})`

/** An id of this moment, as text. */
const idOf = (prefix: string, ms: string, n: string) =>
  `'${prefix}_' || lpad(to_hex(${ms}), 12, '0') || lpad(to_hex(${n}), 20, '0')`

const refusals = [
  [
    402,
    "budget_exceeded",
    "monthly_budget_exceeded",
    "The monthly budget of $5 has no room for this request: $4.998 spent, $0 reserved, $0.0061 needed."
  ],
  [
    403,
    "model_not_allowed",
    "model_not_allowed",
    "This key may not use the model 'acme/reason'. GET /v1/models lists those that it may use."
  ],
  [
    404,
    "model_not_found",
    "model_not_found",
    "The model '<name>' does not exist. GET /v1/models lists the models that exist."
  ],
  [
    422,
    "invalid_request_error",
    "validation_failed",
    "body.messages.0.role: Input should be 'system', 'developer', 'user', 'assistant' or 'tool'"
  ],
  [
    429,
    "rate_limit_exceeded",
    "requests_limit_exceeded",
    "The limit of 20 requests per minute of this key is used up. Retry in 12 seconds."
  ],
  [401, "authentication_error", "invalid_api_key", "The API key is missing or not valid."]
] as const

const statements = (nowMs: number) => {
  const created = `(${nowMs} - ${month.days * DAY_MS}::bigint * (${month.keys} - n + 1) / ${month.keys} - ${30 * DAY_MS}::bigint)`
  // More by day than by night: never backwards, because the slope stays above 0.
  const at = (rows: number) =>
    `(${nowMs - month.days * DAY_MS}::float8 + ${DAY_MS} * (n * ${month.days}::float8 / ${rows} - 0.09 * (1 - cos(2 * pi() * n * ${month.days} / ${rows}))))::bigint`
  const ownerOf = (key: string) =>
    `CASE WHEN ${key} % 3 = 0 THEN (SELECT ids[1 + (${key} / 3) % ${month.users}] FROM month_users) END`
  return [
    `INSERT INTO users SELECT ${idOf("usr", `${nowMs - 90 * DAY_MS}::bigint + n * 3600000`, "n")},
       (ARRAY[${names.map((name) => `'${name}'`).join()}])[1 + n % ${names.length}] || '.' || n || '@example.com', NULL,
       CASE n WHEN 0 THEN 'admin' ELSE 'user' END, CASE WHEN n % 17 = 16 THEN 'suspended' ELSE 'active' END,
       (ARRAY['free', 'pro', 'enterprise'])[1 + n % 3], (5 + n % 7 * 20) * 1000000000::bigint,
       '{${allScopes.join()}}', ${nowMs - 90 * DAY_MS}::bigint + n * 3600000, ${nowMs - 30 * DAY_MS}::bigint,
       ${nowMs}::bigint - (1 + n) * 5400000
     FROM generate_series(0, ${month.users - 1}) AS n`,
    `INSERT INTO identities SELECT 'email', email, id, email, created_at_ms FROM users ON CONFLICT DO NOTHING`,
    `INSERT INTO suspended_owners SELECT id FROM users WHERE state = 'suspended' ON CONFLICT DO NOTHING`,
    `CREATE TEMP TABLE month_users ON COMMIT DROP AS SELECT array_agg(id ORDER BY id) AS ids FROM users`,

    `CREATE TEMP TABLE month_keys ON COMMIT DROP AS
       SELECT n, ${idOf("key", created, "n")} AS id, ${ownerOf("n")} AS owner_id, ${created} AS created_at_ms
       FROM generate_series(1, ${month.keys}) AS n`,
    `INSERT INTO api_keys (id, public_id, secret_hash, prefix, name, tier, scopes, state, monthly_budget_nano,
       allowed_models, owner_id, created_at_ms, updated_at_ms, expires_at_ms, revoked_at_ms)
     SELECT id, 'month' || lpad(n::text, 11, '0'), md5(n::text) || md5(n::text), 'tg-' || left(md5(n::text), 4) || '…',
       (ARRAY['checkout', 'search', 'support', 'billing', 'research', 'mobile', 'documents', 'tenant'])[1 + n % 8] || ' ' || n,
       (ARRAY['free', 'pro', 'enterprise'])[1 + n % 3], '{${allScopes.join()}}',
       CASE WHEN n > 40 AND n % 20 = 7 THEN 'revoked' WHEN n > 40 AND n % 25 = 3 THEN 'disabled' ELSE 'active' END,
       CASE WHEN n % 4 <> 0 THEN (1 + n % 50) * 10000000000::bigint END,
       CASE WHEN n % 9 = 0 THEN ARRAY['acme/small', 'globex/*'] END, owner_id, created_at_ms, created_at_ms,
       CASE WHEN n > 40 AND n % 30 = 11 THEN ${nowMs - DAY_MS}::bigint WHEN n % 30 = 12 THEN ${nowMs + 20 * DAY_MS}::bigint END,
       CASE WHEN n > 40 AND n % 20 = 7 THEN ${nowMs - 2 * DAY_MS}::bigint END
     FROM month_keys`,

    `CREATE TEMP TABLE month_rows ON COMMIT DROP AS
       SELECT n, at, 1 + floor(${month.keys} * power(${draw("n", 1, 100_000)} / 100000.0::float8, 4))::integer AS key,
         CASE WHEN at >= ${nowMs - 27 * HOUR_MS} AND at < ${nowMs - 26 * HOUR_MS} AND n % 2 = 0
           THEN ${ENDINGS} + ${draw("n", 2, ENDINGS_OF_OUTAGE)} ELSE ${draw("n", 2, ENDINGS)} END AS ending
       FROM (SELECT n, ${at(month.generations)} AS at FROM generate_series(1, ${month.generations}) AS n) AS drawn`,
    `INSERT INTO generations (${generationColumns.join()})
     SELECT ${idOf("gen", "at", "r.n")}, k.id, k.owner_id, e.model, e.provider,
       to_char(to_timestamp(at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM'), at, ${generationColumns
         .slice(7, -1)
         .map((column) => `e.${column}`)
         .join()},
       jsonb_set(e.receipt, '{request,id}', to_jsonb(${idOf("req", "at", "r.n")}))
     FROM month_rows AS r JOIN month_keys AS k ON k.n = r.key JOIN month_endings AS e ON e.id = r.ending::text ORDER BY r.n`,
    `INSERT INTO usage_days SELECT key_id, created_at_ms / 86400000 AS day, model, provider, min(owner_id), count(*),
       count(error_type), count(*) FILTER (WHERE cache_hit), sum(prompt_tokens), sum(completion_tokens),
       sum(cached_tokens), sum(total_nano), sum(markup_nano), sum(billed_nano),
       coalesce(sum(cache_discount_nano) FILTER (WHERE cache_hit), 0)
     FROM generations GROUP BY key_id, day, model, provider`,
    `INSERT INTO budget_counters SELECT key_id, month, sum(billed_nano), 0 FROM generations GROUP BY key_id, month`,
    `UPDATE api_keys AS k SET last_used_at_ms = used.at
     FROM (SELECT key_id, max(created_at_ms) AS at FROM generations GROUP BY key_id) AS used WHERE used.key_id = k.id`,

    `INSERT INTO refusals SELECT ${idOf("ref", "at", "d.n")}, ${idOf("req", "at", `d.n + ${month.generations}`)}, at,
       'POST /v1/chat/completions', r.status, r.type, r.code, r.message,
       CASE WHEN r.status <> 401 THEN k.id END, CASE WHEN r.status <> 401 THEN k.owner_id END,
       CASE WHEN r.status NOT IN (401, 404, 422) THEN 'acme/reason' END, CASE WHEN d.n % 40 = 0 THEN 25 ELSE 1 END
     FROM (SELECT n, ${at(month.refusals)} AS at, 1 + n * 7 % 60 AS key FROM generate_series(1, ${month.refusals}) AS n) AS d
     JOIN month_keys AS k ON k.n = key JOIN month_refusals AS r ON r.n = ${draw("d.n", 3, refusals.length)}`,
    `INSERT INTO outages SELECT ${idOf("out", "at", "n")}, 'delta', NULL, at, closed, CASE WHEN closed IS NULL THEN NULL ELSE 'answer' END,
       openings, '{"errorType":"unreachable","httpStatus":null,"message":"connect ECONNREFUSED 127.0.0.1:9"}', 'prc_month'
     FROM (VALUES (1, ${nowMs - 9 * DAY_MS}::bigint, ${nowMs - 9 * DAY_MS + 900_000}::bigint, 2),
       (2, ${nowMs - 27 * HOUR_MS}::bigint, ${nowMs - 26 * HOUR_MS}::bigint, 31)) AS past (n, at, closed, openings)`,
    `INSERT INTO audit_events SELECT ${idOf("aud", "at", "n")}, at, action, CASE WHEN n % 23 = 0 THEN 'refused' ELSE 'done' END,
       CASE WHEN n % 3 = 0 THEN 'admin' ELSE 'admin_key' END, CASE WHEN n % 3 = 0 THEN (SELECT ids[1] FROM month_users) END,
       '192.0.2.' || n % 5, ${idOf("req", "at", `n + ${2 * month.generations}`)},
       CASE WHEN action LIKE 'key.%' THEN (SELECT id FROM month_keys AS k WHERE k.n = 1 + d.n % 60) ELSE (SELECT ids[1 + n % ${month.users}] FROM month_users) END, '{}', 1
     FROM (SELECT n, ${at(600)} AS at, (ARRAY['key.create', 'key.change', 'key.rotate', 'key.revoke', 'user.change'])[1 + n % 5] AS action
       FROM generate_series(1, 600) AS n) AS d`,
    `INSERT INTO refused_credentials SELECT at / 60000 * 60000, '198.51.100.' || n % 4, 'api_key', 1 + n % 9, at
     FROM (SELECT n, ${at(200)} AS at FROM generate_series(1, 200) AS n) AS d ON CONFLICT DO NOTHING`,
    `INSERT INTO webhook_dead_letters SELECT ${idOf("dlv", "at", "n")}, ${idOf("evt", "at", "n")}, 'budget.threshold',
       'http://127.0.0.1:9/hooks', '{"type":"budget.threshold","data":{"percent":80}}', 5, 'connect ECONNREFUSED 127.0.0.1:9', at, at + 900000
     FROM (SELECT n, ${at(12)} AS at FROM generate_series(1, 12) AS n) AS d`,
    `ANALYZE users, api_keys, generations, attempted_providers, usage_days, budget_counters, refusals`
  ]
}

/** Fills an empty database, in one transaction. */
export const fillMonth = (sql: PgClient.PgClient, nowMs: number) =>
  sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SET LOCAL statement_timeout = 0`
      yield* sql`CREATE TEMP TABLE month_endings (LIKE generations) ON COMMIT DROP`
      const drawn = [...endingsOf(ENDINGS, null), ...endingsOf(ENDINGS_OF_OUTAGE, "delta")].map((values, at) =>
        Object.fromEntries(
          generationColumns.map((column, index) => [column, column === "id" ? String(at) : values[index]])
        )
      )
      yield* sql`INSERT INTO month_endings SELECT * FROM jsonb_populate_recordset(null::month_endings, ${JSON.stringify(drawn)}::jsonb)`
      yield* sql`CREATE TEMP TABLE month_refusals (n integer, status integer, type text, code text, message text) ON COMMIT DROP`
      const rows = refusals.map(([status, type, code, message], n) => ({ n, status, type, code, message }))
      yield* sql`INSERT INTO month_refusals SELECT * FROM jsonb_populate_recordset(null::month_refusals, ${JSON.stringify(rows)}::jsonb)`
      // Built at once rather than row by row.
      const indexes = yield* sql<{ readonly name: string; readonly definition: string }>`
        SELECT indexname AS name, indexdef AS definition FROM pg_indexes
        WHERE tablename = 'generations' AND indexname <> 'generations_pkey'`
      for (const { name } of indexes) yield* sql.unsafe(`DROP INDEX ${name}`)
      for (const statement of statements(nowMs)) yield* sql.unsafe(statement)
      for (const { definition } of indexes) yield* sql.unsafe(definition)
    })
  )
