/**
 * Users in the tables `users` and `identities`: one statement per operation. Adoption is a function
 * of the database (migrations/0001/people.ts).
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Option, Schema, Layer } from "effect"
import { Scope, Tier } from "../../domain/Key.ts"
import { type Identity, Role, type UserRecord } from "../../domain/User.ts"
import { LinkingRefused } from "./LinkingRules.ts"
import { columnList, tableOf } from "../sql/Rows.ts"
import { guard } from "../sql/SqlErrors.ts"
import { userPage } from "./UserPageSql.ts"
import { type Adopted, type UserPatch, Users } from "./Users.ts"

/** The row of a user: each grant has its own column. */
const Row = Schema.Struct({
  id: Schema.String,
  email: Schema.NullOr(Schema.String),
  phone: Schema.NullOr(Schema.String),
  role: Role,
  state: Schema.Literals(["active", "suspended"]),
  grantedTier: Tier,
  grantedBudgetNano: Schema.NullOr(Schema.Finite),
  grantedScopes: Schema.Array(Scope),
  createdAtMs: Schema.Finite,
  updatedAtMs: Schema.Finite,
  lastSignInAtMs: Schema.NullOr(Schema.Finite)
})
type Row = typeof Row.Type
const userTable = tableOf<Row>("users", Row)

const IdentityRow = Schema.Struct({
  provider: Schema.String,
  subject: Schema.String,
  email: Schema.NullOr(Schema.String),
  createdAtMs: Schema.Finite
})
const identityTable = tableOf<Identity>("identities", IdentityRow)

const userOf = ({ grantedBudgetNano, grantedScopes, grantedTier, ...row }: Row): UserRecord => ({
  ...row,
  grants: { tier: grantedTier, monthlyBudgetNano: grantedBudgetNano, scopes: grantedScopes }
})

const rowOf = ({ grants = {}, ...user }: Omit<Partial<UserRecord>, "grants"> & UserPatch): Partial<Row> => ({
  ...user,
  ...(grants.tier === undefined ? {} : { grantedTier: grants.tier }),
  ...(grants.monthlyBudgetNano === undefined ? {} : { grantedBudgetNano: grants.monthlyBudgetNano }),
  ...(grants.scopes === undefined ? {} : { grantedScopes: grants.scopes })
})

type Outcome = Adopted["outcome"] | LinkingRefused["fault"]

const patchable = ["role", "state", "granted_tier", "granted_budget_nano", "granted_scopes", "last_sign_in_at_ms"]

export const makeUsersSql: Effect.Effect<Users["Service"], never, PgClient.PgClient> = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(columnList(userTable.columns))
  const members = sql.literal(columnList(patchable))
  const memberOf = sql.literal(columnList(patchable, "patched"))

  const decode = (rows: ReadonlyArray<object>) => Effect.map(userTable.decode(rows), (found) => found.map(userOf))
  const first = <E, R>(rows: Effect.Effect<ReadonlyArray<object>, E, R>) =>
    Effect.map(Effect.flatMap(rows, decode), (users) => Option.fromUndefinedOr(users[0]))

  const adopted = Effect.fnUntraced(function* (rows: ReadonlyArray<{ readonly outcome: Outcome }>) {
    const outcome = rows[0]?.outcome
    if (outcome === "closed" || outcome === "full" || outcome === "unproven") {
      return yield* new LinkingRefused({ fault: outcome })
    }
    const [user] = yield* decode(rows)
    if (user === undefined || outcome === undefined) {
      return yield* Effect.die(new Error("user_adopt returned no user, which is impossible"))
    }
    return { user, outcome } satisfies Adopted
  })

  return {
    adopt: Effect.fn("Users.adopt")((identity, newUser) =>
      guard(
        sql<{ readonly outcome: Outcome }>`
          SELECT outcome, (member).* FROM user_adopt(${sql.json(identityTable.encode(identity))}, ${sql.json(userTable.encode(rowOf(newUser)))})`
      ).pipe(Effect.flatMap(adopted), Effect.catchTag("LinkingRefused", Effect.die))
    ),

    admit: Effect.fn("Users.admit")((identity, newUser, { createdSinceMs, maxCreated, mayCreate, provenId }) => {
      const rules = {
        may_create: mayCreate,
        max_created: maxCreated,
        created_since_ms: createdSinceMs,
        ...(provenId === undefined ? {} : { proven_id: provenId })
      }
      return Effect.flatMap(
        guard(
          sql<{ readonly outcome: Outcome }>`
            SELECT outcome, (member).* FROM user_admit(${sql.json(identityTable.encode(identity))}, ${sql.json(userTable.encode(rowOf(newUser)))}, ${sql.json(rules)})`
        ),
        adopted
      )
    }),

    get: Effect.fn("Users.get")((id) => first(guard(sql`SELECT ${columns} FROM users WHERE id = ${id}`))),

    identities: Effect.fn("Users.identities")((userId) =>
      Effect.flatMap(
        guard(
          sql`SELECT provider, subject, email, created_at_ms FROM identities WHERE user_id = ${userId}
              ORDER BY created_at_ms, provider`
        ),
        identityTable.decode
      )
    ),

    named: Effect.fn("Users.named")((ids) =>
      Effect.map(
        guard(
          sql<{ readonly id: string; readonly name: string }>`
            SELECT id, coalesce(email, phone) AS name FROM users
            WHERE id = ANY(${ids}::text[]) AND coalesce(email, phone) IS NOT NULL`
        ),
        (rows) => new Map(rows.map(({ id, name }) => [id, name]))
      )
    ),

    list: Effect.fn("Users.list")(function* (query) {
      const rows = yield* guard(userPage(sql, columns, query))
      const users = yield* decode(rows.slice(0, query.limit))
      return { users, nextCursor: rows.length > query.limit ? (users.at(-1)?.id ?? null) : null }
    }),

    total: Effect.fn("Users.total")(({ email = null, search = null }) =>
      Effect.map(
        guard(
          sql<{ readonly users: number }>`
            SELECT count(*) AS users FROM users
            WHERE (${email}::text IS NULL OR email = ${email}::text)
              AND (${search}::text IS NULL OR id = ${search}::text
                   OR position(${search}::text IN email) > 0 OR position(${search}::text IN phone) > 0)`
        ),
        ([row]) => row?.users ?? 0
      )
    ),

    update: Effect.fn("Users.update")((id, patch, nowMs) =>
      first(
        guard(
          sql`UPDATE users AS u
              SET (${members}) = (SELECT ${memberOf} FROM jsonb_populate_record(u, ${sql.json(userTable.encode(rowOf(patch)))}) AS patched),
                  updated_at_ms = ${nowMs}::bigint
              WHERE u.id = ${id} RETURNING ${columns}`
        )
      )
    )
  }
})

export const layer = Layer.effect(Users, makeUsersSql)
