/** Keys in the table `api_keys`: one statement per operation, and one transaction per decision. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Option, Layer } from "effect"
import { type KeyStatus, type Tier } from "../../domain/Key.ts"
import { keyPage, keysMatching } from "./KeyPageSql.ts"
import { KeyRepo } from "./KeyRepo.ts"
import { keyTable } from "./KeyRow.ts"
import { columnList } from "../sql/Rows.ts"
import { guard, transacted } from "../sql/SqlErrors.ts"

/** Identifies the locks of owners among all advisory locks of the database: the bytes of `ownr`. */
const OWNER_LOCK_ID = 0x6f776e72

/** The columns that `update` may change, except the state, which has a rule of its own. */
const patchable = [
  "name",
  "tier",
  "scopes",
  "monthly_budget_nano",
  "allowed_models",
  "privacy",
  "expires_at_ms",
  "public_id",
  "secret_hash",
  "previous_secret_hash",
  "previous_valid_until_ms",
  "prefix"
]

export const makeKeyRepoSql: Effect.Effect<KeyRepo["Service"], never, PgClient.PgClient> = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(keyTable.columns))
  const members = sql.literal(columnList(patchable))
  const memberOf = sql.literal(columnList(patchable, "patched"))

  const first = <E, R>(rows: Effect.Effect<ReadonlyArray<object>, E, R>) =>
    rows.pipe(
      Effect.flatMap(keyTable.decode),
      Effect.map((keys) => Option.fromUndefinedOr(keys[0]))
    )

  return {
    insert: Effect.fn("KeyRepo.insert")(function* (key) {
      const row = sql.json(keyTable.encode(key))
      yield* guard(
        sql`INSERT INTO api_keys (${columns}) SELECT ${columns} FROM jsonb_populate_record(null::api_keys, ${row})`
      )
    }),

    findByPublicId: (publicId) =>
      first(
        guard(
          sql`SELECT ${columns} FROM api_keys AS k WHERE public_id = ${publicId}
                AND NOT EXISTS (SELECT 1 FROM suspended_owners AS s WHERE s.owner_id = k.owner_id)`
        )
      ),

    ownerTier: (ownerId) =>
      Effect.map(
        guard(sql<{ readonly granted_tier: Tier }>`SELECT granted_tier FROM users WHERE id = ${ownerId}`),
        ([owner]) => owner?.granted_tier ?? null
      ),

    get: Effect.fn("KeyRepo.get")((id) => first(guard(sql`SELECT ${columns} FROM api_keys WHERE id = ${id}`))),

    list: Effect.fn("KeyRepo.list")(function* (query) {
      const rows = yield* guard(keyPage(sql, columns, query))
      const keys = yield* keyTable.decode(rows.slice(0, query.limit))
      return { keys, nextCursor: rows.length > query.limit ? (keys.at(-1)?.id ?? null) : null }
    }),

    total: Effect.fn("KeyRepo.total")((filter) =>
      Effect.map(
        guard(
          sql<{
            readonly keys: number
          }>`SELECT count(*) AS keys FROM api_keys WHERE ${sql.and(keysMatching(sql, filter))}`
        ),
        ([row]) => row?.keys ?? 0
      )
    ),

    named: Effect.fn("KeyRepo.named")((ids) =>
      Effect.map(
        guard(
          sql<{ readonly id: string; readonly name: string }>`
            SELECT id, name FROM api_keys WHERE id = ANY(${ids}::text[])`
        ),
        (rows) => new Map(rows.map(({ id, name }) => [id, name]))
      )
    ),

    update: Effect.fn("KeyRepo.update")((id, patch, nowMs) =>
      first(
        guard(
          // A member absent from the patch keeps the value that the row has when it is locked.
          sql`UPDATE api_keys AS k
              SET (${members}) = (SELECT ${memberOf} FROM jsonb_populate_record(k, ${sql.json(keyTable.encode(patch))}) AS patched),
                  state = CASE WHEN k.state = 'revoked' THEN k.state
                    ELSE coalesce(${patch.state ?? null}::text, k.state) END,
                  revoked_at_ms = CASE WHEN k.state = 'revoked' OR ${patch.revokedAtMs === undefined}::boolean THEN k.revoked_at_ms
                    ELSE ${patch.revokedAtMs ?? null}::bigint END,
                  updated_at_ms = ${nowMs}::bigint
              WHERE k.id = ${id}
              RETURNING ${columns}`
        )
      )
    ),

    setState: Effect.fn("KeyRepo.setState")(function* (ids, state, nowMs) {
      const rows = yield* guard(
        // Locks rows in the order of their ids, like `touch`.
        sql<{ readonly id: string; readonly is_changed: boolean }>`
          WITH locked AS (SELECT id, state FROM api_keys WHERE id = ANY(${ids}::text[]) ORDER BY id FOR NO KEY UPDATE),
          changed AS (
            UPDATE api_keys AS k SET state = ${state}, updated_at_ms = ${nowMs}::bigint,
              revoked_at_ms = CASE WHEN ${state === "revoked"}::boolean THEN ${nowMs}::bigint END,
              previous_secret_hash = CASE WHEN ${state !== "revoked"}::boolean THEN k.previous_secret_hash END,
              previous_valid_until_ms = CASE WHEN ${state !== "revoked"}::boolean THEN k.previous_valid_until_ms END
            FROM locked WHERE k.id = locked.id AND locked.state <> ${state} AND k.state <> 'revoked'
            RETURNING k.*
          )
          SELECT *, true AS is_changed FROM changed
          UNION ALL
          SELECT *, false FROM api_keys WHERE id = ANY(${ids}::text[]) AND id NOT IN (SELECT id FROM changed)`
      )
      const keys = yield* keyTable.decode(rows)
      return {
        keys: new Map(keys.map((key) => [key.id, key])),
        changed: new Set(rows.flatMap((row) => (row.is_changed ? [row.id] : [])))
      }
    }),

    ofOwners: Effect.fn("KeyRepo.ofOwners")((ownerIds, month) =>
      Effect.map(
        guard(
          sql<{ readonly owner_id: string; readonly keys: number; readonly spent: number; readonly reserved: number }>`
            SELECT owner_id, count(*) FILTER (WHERE state <> 'revoked') AS keys,
                   least(coalesce(sum(spent_nano), 0), 9007199254740991)::bigint AS spent,
                   least(coalesce(sum(reserved_nano), 0), 9007199254740991)::bigint AS reserved
            FROM api_keys LEFT JOIN budget_counters ON key_id = id AND month = ${month}
            WHERE owner_id = ANY(${ownerIds}::text[]) GROUP BY owner_id`
        ),
        (rows) =>
          new Map(
            rows.map(({ keys, owner_id, reserved, spent }) => [
              owner_id,
              { keys, spentNano: spent, reservedNano: reserved }
            ])
          )
      )
    ),

    rotate: Effect.fn("KeyRepo.rotate")(({ id, newHash, nowMs, oldHash, oldUntilMs }) =>
      first(
        guard(
          sql`UPDATE api_keys
              SET secret_hash = ${newHash}, previous_valid_until_ms = ${oldUntilMs}::bigint, updated_at_ms = ${nowMs}::bigint,
                  previous_secret_hash = CASE WHEN ${oldUntilMs}::bigint IS NULL THEN NULL ELSE secret_hash END
              WHERE id = ${id} AND secret_hash = ${oldHash} AND state <> 'revoked'
              RETURNING ${columns}`
        )
      )
    ),

    exclusively: (ownerId, decision) =>
      transacted(
        sql,
        Effect.andThen(
          guard(
            sql`SELECT 1 FROM (SELECT pg_advisory_xact_lock(${OWNER_LOCK_ID}::integer, hashtext(${ownerId}))) AS locked`
          ),
          decision
        )
      ),

    suspendOwner: Effect.fn("KeyRepo.suspendOwner")((ownerId, suspended) =>
      Effect.asVoid(
        guard(
          suspended
            ? sql`INSERT INTO suspended_owners (owner_id) VALUES (${ownerId}) ON CONFLICT DO NOTHING`
            : sql`DELETE FROM suspended_owners WHERE owner_id = ${ownerId}`
        )
      )
    ),

    touch: Effect.fn("KeyRepo.touch")((uses) =>
      uses.size === 0
        ? Effect.void
        : Effect.asVoid(
            guard(
              // Locks rows in the order of their ids, so that processes that touch the same keys
              // never deadlock.
              sql`WITH used AS (SELECT key AS id, value::bigint AS at_ms FROM jsonb_each_text(${sql.json(Object.fromEntries(uses))})),
                    locked AS (SELECT k.id, used.at_ms FROM api_keys AS k JOIN used ON used.id = k.id
                               ORDER BY k.id FOR NO KEY UPDATE OF k)
                  UPDATE api_keys AS k SET last_used_at_ms = locked.at_ms FROM locked
                  WHERE k.id = locked.id AND (k.last_used_at_ms IS NULL OR k.last_used_at_ms < locked.at_ms)`
            )
          )
    ),

    capped: Effect.fn("KeyRepo.capped")(({ afterId, limit, nowMs }) =>
      Effect.map(
        guard(
          sql<{ readonly id: string; readonly cap_nano: number }>`
            SELECT id, monthly_budget_nano AS cap_nano FROM api_keys
            WHERE state = 'active' AND monthly_budget_nano IS NOT NULL
              AND (expires_at_ms IS NULL OR expires_at_ms > ${nowMs}::bigint)
              AND (${afterId}::text IS NULL OR id > ${afterId}::text)
            ORDER BY id LIMIT ${limit}`
        ),
        (rows) => rows.map(({ cap_nano: capNano, id }) => ({ id, capNano }))
      )
    ),

    counts: Effect.fn("KeyRepo.counts")(function* (nowMs) {
      const rows = yield* guard(
        sql<{ readonly status: KeyStatus; readonly tier: Tier; readonly keys: number }>`
          SELECT CASE WHEN state = 'active' AND expires_at_ms <= ${nowMs}::bigint THEN 'expired' ELSE state END AS status,
                 tier, count(*) AS keys
          FROM api_keys GROUP BY 1, 2`
      )
      const byStatus: Record<KeyStatus, number> = { active: 0, disabled: 0, revoked: 0, expired: 0 }
      const byTier: Record<Tier, number> = { free: 0, pro: 0, enterprise: 0 }
      for (const row of rows) {
        byStatus[row.status] += row.keys
        if (row.status === "active") byTier[row.tier] += row.keys
      }
      return { byStatus, byTier }
    })
  }
})

export const layer = Layer.effect(KeyRepo, makeKeyRepoSql)
