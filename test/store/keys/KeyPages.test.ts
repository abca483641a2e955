/**
 * Pages of 5,000 keys in real Postgres, with the spending of a year: the most expensive keys of one
 * month in order, and how many rows a page reads.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { keyPage } from "../../../src/store/keys/KeyPageSql.ts"
import { type KeyPage, type KeyQuery, KeyRepo, keySorts } from "../../../src/store/keys/KeyRepo.ts"
import * as KeyRepoSql from "../../../src/store/keys/KeyRepoSql.ts"
import { type UserPage, type UserQuery, Users } from "../../../src/store/people/Users.ts"
import * as UsersSql from "../../../src/store/people/UsersSql.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { nodesOf, planOf, rowsRead } from "../../support/plans.ts"
import { freshDatabase } from "../../support/Postgres.ts"

const KEYS = 5_000
const T0 = Date.UTC(2026, 10, 21)

/** Key n has spent n modulo 1,000 in each month. Every fifth is disabled, every seventh expires. */
const filled = Effect.gen(function* () {
  const database = Sql.layerPostgres({ url: yield* freshDatabase })
  const context = yield* Layer.build(Layer.provideMerge(Layer.merge(KeyRepoSql.layer, UsersSql.layer), database))
  const sql = Context.get(context, PgClient.PgClient)
  yield* sql`
    INSERT INTO api_keys SELECT 'key_' || lpad(n::text, 32, '0'), 'p' || n, 'hash', NULL, NULL, 'tg-', 'Tenant ' || n, 'pro',
        '{chat:write}', CASE WHEN n % 5 = 0 THEN 'disabled' ELSE 'active' END, 1, NULL, 'usr_' || n % 100, n, n, n * 7919 % 5000,
        CASE WHEN n % 7 = 0 THEN n END, NULL, NULL
      FROM generate_series(1, ${KEYS}) AS n`
  yield* sql`
    INSERT INTO budget_counters SELECT 'key_' || lpad(n::text, 32, '0'), '2026-' || lpad(m::text, 2, '0'), n % 1000, 1
      FROM generate_series(1, ${KEYS}) AS n, generate_series(1, 12) AS m WHERE n % 2 = 1`
  yield* sql`ANALYZE api_keys`
  yield* sql`ANALYZE budget_counters`
  return { context, sql, repo: Context.get(context, KeyRepo) }
})

it.live(
  "lists the most expensive keys of a month first, and reads each key and its counter once at most",
  () =>
    Effect.gen(function* () {
      const { context, repo, sql } = yield* filled
      const query = { limit: 700, sort: "spent", month: "2026-11" } as const
      const numbers: Array<number> = []
      let cursor: string | null = null
      do {
        const page: KeyPage = yield* repo.list({ ...query, cursor })
        numbers.push(...page.keys.map(({ id }) => Number(id.slice(4))))
        cursor = page.nextCursor
      } while (cursor !== null)
      const spent = (n: number) => (n % 2 === 1 ? n % 1000 : 0)
      const expected = Array.from({ length: KEYS }, (_, n) => n + 1).sort((a, b) => spent(b) - spent(a) || b - a)
      assert.deepStrictEqual(numbers, expected)
      assert.strictEqual((yield* repo.list({ ...query, cursor: null, isReversed: true })).keys[0]?.id.slice(-4), "0002")
      const figures = yield* repo.ofOwners(["usr_7", "usr_8"], "2026-11")
      assert.deepStrictEqual(figures.get("usr_7"), { keys: 50, spentNano: 22_850, reservedNano: 50 })
      assert.deepStrictEqual(figures.get("usr_8"), { keys: 50, spentNano: 0, reservedNano: 0 })

      // User n has the keys of the rest n; those of odd rests have spent.
      yield* sql`
        INSERT INTO users SELECT 'usr_' || n, n || '@example.com', NULL, 'user', 'active', 'free', NULL, '{}', n, n, n
          FROM generate_series(0, 9) AS n`
      const users = Context.get(context, Users)
      const listed = (more: Partial<UserQuery>) =>
        Effect.gen(function* () {
          const seen: Array<string> = []
          let cursor: string | null = null
          do {
            const page: UserPage = yield* users.list({ limit: 3, cursor, month: "2026-11", ...more })
            seen.push(...page.users.map(({ id }) => id.slice(4)))
            cursor = page.nextCursor
          } while (cursor !== null)
          return seen.join("")
        })
      assert.strictEqual(yield* listed({ sort: "spent" }), "9753186420")
      assert.strictEqual(yield* listed({ sort: "spent", isReversed: true }), "0246813579")
      assert.strictEqual(yield* listed({ sort: "keys" }), "9876543210")
      assert.strictEqual(yield* listed({ sort: "name" }), "0123456789")
      assert.strictEqual(yield* listed({ sort: "last_sign_in", isReversed: true }), "0123456789")
      assert.strictEqual(yield* listed({ sort: "spent", search: "7@" }), "7")

      const last = `key_${"7".padStart(32, "0")}`
      for (const sort of keySorts) {
        for (const more of [
          {},
          { cursor: last },
          { search: "tenant 33" },
          { ownerId: "usr_7" },
          { status: { is: "live", nowMs: T0 } }
        ] satisfies ReadonlyArray<Partial<KeyQuery>>) {
          const page = keyPage(sql, sql.literal("*"), { limit: 50, cursor: null, sort, month: "2026-11", ...more })
          const plan = yield* planOf(sql, page)
          const text = `${sort} ${JSON.stringify(more)}`
          const tables = new Set(nodesOf(plan).flatMap((node) => node["Relation Name"] ?? []))
          assert.isEmpty(
            [...tables].filter((table) => table !== "api_keys" && table !== "budget_counters"),
            text
          )
          assert.isAtMost(rowsRead(plan, /^api_keys|^budget_counters/), 2 * KEYS + 10, text)
        }
      }
    }).pipe(Effect.scoped),
  120_000
)
