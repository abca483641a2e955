/**
 * The conditions of a list of generations in SQL. Only those of the query, so that each kind of
 * query finds its index (Indexes.ts). Times become bounds of the ids, which contain the beginning
 * of a generation, so that a query for old rows does not read newer ones.
 */
import { type PgClient } from "@effect/sql-pg"
import { type Statement } from "effect/sql"
import { idBound } from "../../domain/Ids.ts"
import type { Among } from "../Among.ts"
import type { GenerationQuery } from "./GenerationStore.ts"

export type Table = "generations" | "generations_archive"

/** The newest ids that match, at most `limit`, before those of a page. */
export const matching = (sql: PgClient.PgClient, table: Table, query: GenerationQuery, limit: number) => {
  const name = sql.literal(table)
  const conditions = conditionsOf(sql, query)
  const newest = (more: ReadonlyArray<Statement.Fragment>) =>
    sql`(SELECT id FROM ${name} WHERE ${sql.and([...more, ...conditions])} ORDER BY id DESC LIMIT ${limit})`
  /** The newest of all parts. Each part has its index. */
  const joined = (parts: ReadonlyArray<Statement.Fragment>) =>
    sql`SELECT id FROM (${sql.join(" UNION ", false)(parts)}) AS found ORDER BY id DESC LIMIT ${limit}`
  const among = ({ keyIds, models, ownerIds, requestIds }: Among) => [
    ...models.map((one) => newest([sql`model = ${one}`])),
    ...keyIds.map((one) => newest([sql`key_id = ${one}`])),
    ...ownerIds.map((one) => newest([sql`owner_id = ${one}`])),
    ...requestIds.map((one) => newest([sql`receipt->'request'->>'id' = ${one}`]))
  ]
  /** The last one that was called, or one before it. Postgres chooses from which side it looks. */
  const attempted = (provider: string) => [
    newest([sql`provider = ${provider}`]),
    newest([sql`id IN (SELECT id FROM attempted_providers WHERE provider = ${provider})`])
  ]
  if (query.among !== undefined) {
    const parts = among(query.among)
    return parts.length === 0 ? sql`NULL` : joined(parts)
  }
  return query.attempted === undefined ? newest([]) : joined(attempted(query.attempted))
}

const conditionsOf = (sql: PgClient.PgClient, query: GenerationQuery) => {
  const { error, keyId, model, ownerId, provider } = query
  return [
    ...(keyId === null ? [] : [sql`key_id = ${keyId}`]),
    ...(ownerId === undefined ? [] : [sql`owner_id = ${ownerId}`]),
    ...idConditions(sql, query),
    ...(model === undefined ? [] : [sql`model = ${model}`]),
    ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
    ...(error === undefined ? [] : [errorCondition(sql, error)]),
    ...(query.id === undefined ? [] : [sql`id = ${query.id}`]),
    ...(query.requestId === undefined ? [] : [sql`receipt->'request'->>'id' = ${query.requestId}`]),
    ...(query.status === undefined ? [] : statusConditions(sql, query.status)),
    ...(query.fallbackUsed === true ? [sql`fallback_used`] : []),
    ...(query.cacheHit === true ? [sql`cache_hit`] : []),
    ...(query.cancelled === undefined ? [] : [query.cancelled ? sql`cancelled` : sql`NOT cancelled`])
  ]
}

const idConditions = (sql: PgClient.PgClient, { cursor, fromMs, toMs }: GenerationQuery) => [
  ...(cursor === null ? [] : [sql`id < ${cursor}`]),
  ...(fromMs === undefined ? [] : [sql`id >= ${idBound("gen", fromMs)}`]),
  ...(toMs === undefined ? [] : [sql`id < ${idBound("gen", toMs)}`])
]

const OK_STATUS = 200

/**
 * Almost all requests have the status 200; the others have failed or were cancelled. Postgres takes
 * a comparison of an expression for a rare one, and a coalesced one for a common one.
 */
const statusConditions = (sql: PgClient.PgClient, status: number) =>
  status === OK_STATUS
    ? [sql`coalesce(receipt->'request'->>'status' = ${String(status)}, false)`]
    : [sql`receipt->'request'->>'status' = ${String(status)}`, sql`(error_type IS NOT NULL OR cancelled)`]

const errorCondition = (sql: PgClient.PgClient, error: string) => {
  if (error === "any") return sql`error_type IS NOT NULL`
  return error === "none" ? sql`error_type IS NULL` : sql`error_type = ${error}`
}
