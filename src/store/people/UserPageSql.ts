/**
 * The statement of one page of users. It reads users and, for the orders by keys and spending,
 * their keys with the counters of one month, but never generations.
 */
import { type PgClient } from "@effect/sql-pg"
import { type UserQuery, type UserSort } from "./Users.ts"

const reversed = { ASC: "DESC", DESC: "ASC" } as const

/** What each order compares before the ids. Ids of users contain the time of their creation. */
const sorts = {
  created: ["id", "DESC"],
  name: [`coalesce(email, phone, '') COLLATE "C"`, "ASC"],
  last_sign_in: ["coalesce(last_sign_in_at_ms, 0)", "DESC"],
  keys: ["coalesce(keys, 0)", "DESC"],
  spent: ["coalesce(spent, 0)", "DESC"]
} as const satisfies Record<UserSort, unknown>

/** `columns`: those that are read. One row more than the limit, if there are more. */
export const userPage = (
  sql: PgClient.PgClient,
  columns: ReturnType<PgClient.PgClient["literal"]>,
  { cursor, email, isReversed = false, limit, month = "", search, sort = "created" }: UserQuery
) => {
  const [value, natural] = sorts[sort]
  const order = isReversed ? reversed[natural] : natural
  const comes = sql.literal(order === "DESC" ? "<" : ">")
  const from =
    sort === "keys" || sort === "spent"
      ? sql`users LEFT JOIN (
          SELECT owner_id, count(*) FILTER (WHERE state <> 'revoked') AS keys, sum(spent_nano) AS spent
          FROM api_keys LEFT JOIN budget_counters ON key_id = api_keys.id AND month = ${month}
          WHERE owner_id IS NOT NULL GROUP BY owner_id
        ) AS owned ON owner_id = users.id`
      : sql`users`
  const value_ = sql.literal(value)
  const conditions = [
    ...(email === undefined ? [] : [sql`email = ${email}`]),
    ...(search === undefined
      ? []
      : [sql`(id = ${search} OR position(${search} IN email) > 0 OR position(${search} IN phone) > 0)`]),
    ...(cursor === null
      ? []
      : sort === "created"
        ? [sql`id ${comes} ${cursor}`]
        : [sql`(${value_}, id) ${comes} (SELECT ${value_}, id FROM ${from} WHERE id = ${cursor})`])
  ]
  return sql`SELECT ${columns} FROM ${from} WHERE ${sql.and(conditions)}
    ORDER BY ${sql.literal(`${value} ${order}, id ${order}`)} LIMIT ${limit + 1}`
}
