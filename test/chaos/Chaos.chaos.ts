/**
 * A minute of mishaps under load. Afterwards the books are right: no cap was exceeded at any instant that was looked at, counters are the sums
 * of their entries, every answer that a client holds is one generation with the amount that it was told, nothing stays reserved once a
 * lease is over and the reconciler has looked, and no limit of requests, tokens or concurrency let through more than it may.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Console, Context, Effect, Fiber, Layer, Redacted } from "effect"
import { Sql } from "../../src/store/Sql.ts"
import { Audit } from "../store/LedgerAudit.ts"
import { eventually, type Gateway, startGateway } from "../support/Gateway.ts"
import { spawnPostgres } from "../support/Postgres.ts"
import { spawnRedis } from "../support/Redis.ts"
import { client, emptyNotes, type TestKey } from "./clients.ts"
import { mostBeyond } from "./limits.ts"
import { startProvider } from "./provider.ts"

const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? 60)
const CLIENTS = Number(process.env["CHAOS_CLIENTS"] ?? 500)
const GATEWAYS = 4
const LEASE_SECONDS = 30
/** One lease, one round of the reconciler, which looks five times a lease, and what a busy machine takes. */
const SETTLED_LIMIT_MS = LEASE_SECONDS * 1_000 * 1.2 + 5_000
/** So low that a whole run meets all of them, also on a slow machine; the last two are of the keys that are watched. */
const REQUESTS_PER_MINUTE = 6
const TOKENS_PER_MINUTE = 900
const CONCURRENCY = Math.max(1, Math.floor(CLIENTS / 80))
/** What a bucket of tokens may give back of requests that were granted before a stretch of time: their estimates. */
const GIVEN_BACK = CONCURRENCY * 150
/** Each client asks about twice in this time. */
const THINK_MS = 4_000
const NANO = 1_000_000_000

const postgres = Effect.acquireRelease(
  Effect.promise(() => spawnPostgres(["fsync=on", "synchronous_commit=on"])),
  (server) => Effect.promise(() => server.stop())
)
const redis = Effect.acquireRelease(
  Effect.promise(() => spawnRedis()),
  (server) => Effect.promise(() => server.stop())
)

const provider = Effect.acquireRelease(
  Effect.promise(() => startProvider()),
  (server) => Effect.promise(() => server.stop())
)

interface Balance {
  readonly key_id: string
  readonly spent_nano: number
  readonly reserved_nano: number
}

it.live("a minute of mishaps", () =>
  Effect.gen(function* () {
    const database = yield* postgres
    const store = yield* redis
    const watching = yield* provider
    const env = { DATABASE_URL: database.url, REDIS_URL: store.url, TOLLGATE_LOG_LEVEL: "error" }
    const config = {
      ledger: { lease_seconds: LEASE_SECONDS },
      providers: [
        {
          slug: "mock",
          dialect: "mock",
          models: [
            { id: "mock/lorem", upstream: "lorem", max_completion_tokens: 1000, pricing: { prompt: 1, completion: 2 } }
          ]
        },
        {
          slug: "watching",
          dialect: "openai",
          base_url: watching.url,
          models: [
            { id: "w/slow", upstream: "slow", max_completion_tokens: 1000, pricing: { prompt: 1, completion: 2 } }
          ]
        }
      ],
      tiers: {
        free: { requests_per_minute: REQUESTS_PER_MINUTE },
        pro: { requests_per_minute: 3_000, tokens_per_minute: TOKENS_PER_MINUTE, concurrency: CONCURRENCY }
      }
    }
    const start = startGateway({ env: { ...env, TOLLGATE_LOG_LEVEL: "info" }, config })
    const gateways: Array<Gateway | null> = []
    for (let at = 0; at < GATEWAYS; at++) gateways.push(yield* start)
    const up = () => gateways.filter((gateway) => gateway !== null)
    const replace = Effect.fnUntraced(function* (at: number) {
      const gateway = gateways[at]
      gateways[at] = null
      if (gateway !== null && gateway !== undefined) yield* gateway.kill
      gateways[at] = yield* start
    })

    // 40 tokens of output at 2 USD a million, and some 30 of prompt: about 0.00011 USD a request.
    const [first] = up()
    if (first === undefined) return assert.fail("no gateway")
    const keys: Array<TestKey> = []
    for (let at = 0; at < 20; at++) {
      const capUsd = at % 2 === 0 ? 0.002 * (at + 1) : null
      const isWatched = at % 5 === 3
      const tier = at % 5 === 4 ? "free" : isWatched ? "pro" : "enterprise"
      const issued = yield* first.issueKey({ tier, monthly_budget_usd: capUsd })
      keys.push({
        ...issued,
        capUsd,
        requestsPerMinute: tier === "free" ? REQUESTS_PER_MINUTE : 3_000,
        model: isWatched ? "w/slow" : "mock/lorem",
        mayLeave: !isWatched
      })
    }

    const sql = Context.get(
      yield* Layer.build(Sql.layerPostgres({ url: Redacted.make(database.url) })),
      PgClient.PgClient
    )
    const notes = emptyNotes()
    const startedMs = performance.now()
    const sinceMs = () => performance.now() - startedMs
    const load = yield* Effect.forkChild(
      Effect.forEach(
        Array.from({ length: CLIENTS }, (_, at) => at),
        (at) => {
          const key = keys[at % keys.length]
          return key === undefined
            ? Effect.void
            : client({
                gateways: up,
                key,
                notes,
                thinkMs: THINK_MS,
                sinceMs,
                isOver: () => sinceMs() > SECONDS * 1_000
              })
        },
        { concurrency: "unbounded", discard: true }
      )
    )
    const over: Array<string> = []
    const watch = yield* Effect.forkChild(
      sql<Balance>`SELECT key_id, spent_nano, reserved_nano FROM budget_counters`.pipe(
        Effect.map((balances) => {
          for (const { key_id: id, reserved_nano: reserved, spent_nano: spent } of balances) {
            const cap = keys.find((key) => key.id === id)?.capUsd ?? null
            if (cap !== null && spent + reserved > Math.round(cap * NANO)) over.push(`${id}: ${spent} + ${reserved}`)
          }
        }),
        Effect.ignore,
        Effect.andThen(Effect.sleep("200 millis")),
        Effect.forever
      )
    )

    const at = <R>(share: number, mishap: Effect.Effect<unknown, never, R>) =>
      Effect.andThen(Effect.sleep(share * SECONDS * 1_000), mishap)
    yield* Effect.all(
      [
        at(0.15, replace(0)),
        at(
          0.35,
          Effect.andThen(
            Effect.andThen(
              Effect.sync(() => store.pause()),
              Effect.sleep("3 seconds")
            ),
            Effect.sync(() => store.resume())
          )
        ),
        at(
          0.5,
          Effect.andThen(
            Effect.promise(() => database.down()),
            Effect.promise(() => database.up())
          )
        ),
        at(0.7, replace(1)),
        at(0.85, Effect.all([replace(2), replace(3)], { concurrency: 2 }))
      ],
      { concurrency: "unbounded", discard: true }
    )
    yield* Fiber.join(load)
    const loadedMs = performance.now()

    // What dead processes held is settled once their lease is over.
    yield* eventually(
      Effect.filterOrFail(
        sql<{ readonly count: number }>`SELECT count(*)::int AS count FROM reservations`,
        ([row]) => row?.count === 0
      ),
      SETTLED_LIMIT_MS,
      "nothing reserved"
    )
    yield* Fiber.interrupt(watch)
    const statuses = Object.fromEntries([...notes.statuses].toSorted(([a], [b]) => a - b))
    const mostAtOnce = watching.mostAtOnce()
    yield* Console.log({
      statuses,
      told: notes.told.length,
      limited: Object.fromEntries(notes.limited),
      watchedAtOnce: [...mostAtOnce.values()],
      settledAfterMs: Math.round(performance.now() - loadedMs)
    })

    assert.deepStrictEqual(notes.wrong, [], "answers that no client should see")
    assert.deepStrictEqual(over, [], "caps exceeded")
    assert.deepStrictEqual(
      yield* Effect.flatMap(Audit, ({ differences }) => differences).pipe(
        Effect.provide(Audit.layer.pipe(Layer.provide(Layer.succeed(PgClient.PgClient, sql))))
      ),
      []
    )

    const rows = yield* sql<{ readonly id: string; readonly key_id: string; readonly billed_nano: number }>`
      SELECT id, key_id, billed_nano FROM generations`
    const byId = new Map(rows.map((row) => [row.id, row]))
    const lost = notes.told.filter(({ billedUsd, generationId, keyId }) => {
      const row = byId.get(generationId)
      return row === undefined || row.key_id !== keyId || row.billed_nano !== Math.round(billedUsd * NANO)
    })
    assert.deepStrictEqual(lost, [], "answers without their generation")

    for (const key of keys) {
      const grants = notes.granted.get(key.id) ?? []
      // A request that is let through may find a part of a request in the bucket that is as good as one.
      assert.isAtMost(
        mostBeyond(grants, key.requestsPerMinute, () => 1),
        1,
        `requests granted to ${key.id}`
      )
      if (key.mayLeave) continue
      const tokens = mostBeyond(grants, TOKENS_PER_MINUTE, (grant) => grant.tokens)
      assert.isAtMost(tokens, GIVEN_BACK, `tokens granted to ${key.id}`)
      assert.isAtMost(mostAtOnce.get(key.id) ?? 0, CONCURRENCY, `at once granted to ${key.id}`)
    }
    assert.isAbove(notes.told.length, CLIENTS, "there was load")
  })
)
