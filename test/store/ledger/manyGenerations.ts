/**
 * Many generations in Postgres, in which the rare values are the oldest, and the queries of lists:
 * for the test of the plans and for the benchmark.
 */
import { type PgClient } from "@effect/sql-pg"
import { Effect, Schedule } from "effect"
import { generationIndexes } from "../../../src/store/ledger/Indexes.ts"
import { idBound } from "../../../src/domain/Ids.ts"
import { type GenerationQuery } from "../../../src/store/ledger/GenerationStore.ts"

const nobody = "nobody"

const attempts = (...slugs: ReadonlyArray<string>): string =>
  JSON.stringify(
    slugs.map((provider) => ({ provider, model: "m", status: "ok", latencyMs: 1, errorType: null, httpStatus: 200 }))
  )

const receipt = {
  excluded: [],
  price: { prompt: 1, completion: 1, cachedPrompt: null },
  reservation: { reservedNano: 1, extendedNano: 0, settledNano: 1 }
}

/** Waits until the indexes are there, which are built in the background. */
export const indexesBuilt = (sql: PgClient.PgClient) =>
  Effect.repeat(
    sql`SELECT 1 FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE i.indisvalid AND c.relname = ANY(${Object.keys(generationIndexes)}::text[])`,
    { schedule: Schedule.spaced("20 millis"), until: (rows) => rows.length === Object.keys(generationIndexes).length }
  )

/**
 * Every tenth row failed, every fifth one fell back from `beta` to `alpha`. The first row alone has
 * the rare values.
 */
export const fillWith = Effect.fnUntraced(function* (sql: PgClient.PgClient, table: string, rows: number) {
  yield* sql`
    INSERT INTO ${sql.literal(table)}
      SELECT 'gen_' || lpad(to_hex(n), 12, '0') || lpad(n::text, 20, '0'),
        CASE n WHEN 1 THEN 'key_rare' ELSE 'key_' || n % 3 END, CASE n WHEN 1 THEN 'usr_rare' ELSE 'usr_' || n % 3 END,
        CASE n WHEN 1 THEN 'rare' ELSE 'm' || n % 3 END, CASE n WHEN 1 THEN 'rare' ELSE 'alpha' END,
        '1970-01', n, 1, 1, 0, 'provider', 1, 1, 0, 2, 0, 2, 5, NULL, n % 5 = 0, n = 1, false, n = 1, 'stop',
        CASE WHEN n = 1 THEN 'rare' WHEN n % 10 = 0 THEN 'provider_error' END,
        ${JSON.stringify(receipt)}::jsonb || jsonb_build_object(
          'request', jsonb_build_object('id', 'req_' || n, 'endpoint', 'POST /v1/chat/completions',
            'status', CASE WHEN n = 1 THEN 418 WHEN n % 10 = 0 THEN 502 ELSE 200 END),
          'attempts', CASE WHEN n = 2 THEN ${attempts("gone", "alpha")}::jsonb
            WHEN n % 5 = 0 THEN ${attempts("beta", "alpha")}::jsonb ELSE ${attempts("alpha")}::jsonb END)
      FROM generate_series(1, ${rows}) AS n`
  yield* sql`ANALYZE ${sql.literal(table)}`
  // A trigger notes those of the recent table. The archive of these tests has the same ids.
  yield* sql`ANALYZE attempted_providers`
})

/** The archive's partition for these rows. */
export const addPartition = (sql: PgClient.PgClient) =>
  sql`CREATE TABLE generations_1970_01 PARTITION OF generations_archive
    FOR VALUES FROM (${sql.literal(`'${idBound("gen", 0)}'`)}) TO (${sql.literal(`'${idBound("gen", 2_678_400_000)}'`)})`

const among = { models: [nobody], keyIds: [nobody], ownerIds: [nobody], requestIds: [nobody] }

/** Each filter, for values that most rows have, that one has, and that none has. */
export const queries: ReadonlyArray<Partial<GenerationQuery>> = [
  {},
  { fromMs: 1, toMs: 3 },
  ...["m1", "rare", nobody].map((model) => ({ model })),
  ...["key_1", "key_rare", nobody].map((keyId) => ({ keyId })),
  ...["usr_1", "usr_rare", nobody].map((ownerId) => ({ ownerId })),
  ...["alpha", "rare", nobody].map((provider) => ({ provider })),
  ...["any", "none", "provider_error", "rare", nobody].map((error) => ({ error })),
  ...["alpha", "beta", "gone", nobody].map((attempted) => ({ attempted })),
  ...[200, 502, 418, 404].map((status) => ({ status })),
  ...["req_1", "req_19999", nobody].map((requestId) => ({ requestId })),
  { id: nobody },
  { fallbackUsed: true },
  { cacheHit: true },
  { cancelled: true },
  { among },
  { among: { ...among, models: ["m1", "rare"], keyIds: ["key_rare"] } },
  { keyId: "key_rare", error: "any" },
  { model: "m1", error: "rare" },
  { ownerId: "usr_1", fallbackUsed: true },
  { keyId: "key_1", error: "any", fromMs: 5, toMs: 6 },
  // What an end means.
  { error: "none", cancelled: false },
  { error: "none", cancelled: false, keyId: "key_rare" },
  { error: "none", cancelled: false, model: "rare" },
  { cancelled: true, keyId: "key_1" },
  // Two filters of which one alone selects few.
  { fallbackUsed: true, model: "rare" },
  { cacheHit: true, model: "m1" },
  { attempted: "beta", error: "any" },
  { attempted: "gone", keyId: "key_2" },
  { attempted: "beta", ownerId: "usr_rare" },
  { attempted: "beta", keyId: "key_rare" },
  { attempted: "beta", model: "m1" },
  { attempted: "gone", ownerId: "usr_2" },
  { attempted: nobody, ownerId: "usr_2" },
  { status: 200, ownerId: "usr_rare" },
  { status: 502, model: "m1" }
]
