/**
 * The statement of one page of keys. It reads the keys, and for the order by spending their
 * counters of one month, but never generations.
 */
import { type PgClient } from "@effect/sql-pg"
import { type KeyFilter, type KeyQuery, type KeySort, type KeyStatusFilter } from "./KeyRepo.ts"

const reversed = { ASC: "DESC", DESC: "ASC" } as const

/** What each order compares before the ids. Ids of keys contain the time of their creation. */
const sorts = {
  created: ["id", "DESC"],
  name: [`lower(name) COLLATE "C"`, "ASC"],
  last_used: ["coalesce(last_used_at_ms, 0)", "DESC"],
  expires: ["coalesce(expires_at_ms, 9007199254740991)", "ASC"],
  spent: ["coalesce(spent_nano, 0)", "DESC"]
} as const satisfies Record<KeySort, unknown>

const hasStatus = (sql: PgClient.PgClient, { is, nowMs }: KeyStatusFilter) => {
  const isExpired = sql`coalesce(expires_at_ms <= ${nowMs}::bigint, false)`
  switch (is) {
    case "active":
      return sql`state = 'active' AND NOT ${isExpired}`
    case "expired":
      return sql`state = 'active' AND ${isExpired}`
    case "live":
      return sql`(state = 'disabled' OR (state = 'active' AND NOT ${isExpired}))`
    case "disabled":
    case "revoked":
      return sql`state = ${is}`
  }
}

/** The conditions of a filter. */
export const keysMatching = (sql: PgClient.PgClient, { ownerId, search, status }: KeyFilter) => [
  ...(status === undefined ? [] : [hasStatus(sql, status)]),
  ...(ownerId === undefined ? [] : [sql`owner_id = ${ownerId}`]),
  ...(search === undefined
    ? []
    : [sql`(position(lower(${search}::text) IN lower(name)) > 0 OR id = ${search} OR prefix = ${search})`])
]

/** `columns`: those that are read. One row more than the limit, if there are more. */
export const keyPage = (
  sql: PgClient.PgClient,
  columns: ReturnType<PgClient.PgClient["literal"]>,
  { cursor, isReversed = false, limit, month, sort = "created", ...filter }: KeyQuery
) => {
  const [value, natural] = sorts[sort]
  const order = isReversed ? reversed[natural] : natural
  const comes = sql.literal(order === "DESC" ? "<" : ">")
  const from =
    sort === "spent"
      ? sql`api_keys AS k LEFT JOIN budget_counters AS b ON b.key_id = k.id AND b.month = ${month ?? ""}`
      : sql`api_keys AS k`
  const after =
    cursor === null
      ? []
      : sort === "created"
        ? [sql`id ${comes} ${cursor}`]
        : [
            sql`(${sql.literal(value)}, id) ${comes} (SELECT ${sql.literal(value)}, id FROM ${from} WHERE id = ${cursor})`
          ]
  return sql`SELECT ${columns} FROM ${from} WHERE ${sql.and([...keysMatching(sql, filter), ...after])}
    ORDER BY ${sql.literal(`${value} ${order}, id ${order}`)} LIMIT ${limit + 1}`
}
