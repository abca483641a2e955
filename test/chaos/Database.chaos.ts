/**
 * A Postgres that is away for more than two minutes, or refuses writes, while answers are running.
 */
import { assert, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { eventually, type Gateway } from "../support/Gateway.ts"
import { auditBooks, watchCaps } from "./books.ts"
import { beginStream, type TestKey } from "./clients.ts"
import { openWorld, type World } from "./world.ts"

const LEASE_SECONDS = 10
const AWAY_SECONDS = 130
const SETTLED_LIMIT_MS = 40_000
const RECOVERY_MS = 20_000
const STREAMS = 3

const beginAll = (world: World, gateway: Gateway, keys: ReadonlyArray<TestKey>, everyMs: number) =>
  Effect.forEach(
    keys.flatMap((key) => Array.from({ length: STREAMS }, () => key)),
    (key) =>
      Effect.tap(beginStream({ gateway, key, notes: world.notes, tokens: 40, everyMs }), ({ begun, status }) => {
        assert.strictEqual(status, 200)
        return begun
      }),
    { concurrency: "unbounded" }
  )

const served = (world: World, gateway: Gateway, key: TestKey) =>
  eventually(
    Effect.filterOrFail(
      beginStream({ gateway, key, notes: world.notes, tokens: 1, everyMs: 1 }),
      ({ status }) => status === 200
    ),
    RECOVERY_MS,
    "a request that is served"
  ).pipe(Effect.flatMap(({ whole }) => whole))

const healthIs = (gateway: Gateway, wanted: number) =>
  eventually(
    Effect.filterOrFail(
      Effect.all([gateway.send("/health"), gateway.send("/health/ready")]),
      (answers) => answers.every(({ status }) => status === wanted),
      (answers) => answers.map(({ status, text }) => ({ status, text }))
    ),
    RECOVERY_MS,
    `health ${wanted}`
  )

it.live("requests that end while Postgres is away for more than two minutes are written when it is back", () =>
  Effect.gen(function* () {
    const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
    const gateways = [yield* world.start(), yield* world.start()] as const
    const keys = [yield* world.issue(gateways[0], { capUsd: 0.01 }), yield* world.issue(gateways[0])] as const
    const watched = yield* watchCaps(world)
    const streams = (yield* Effect.forEach(gateways, (gateway) => beginAll(world, gateway, keys, 50))).flat()
    yield* Effect.promise(() => world.database.down())
    yield* Effect.forEach(streams, ({ whole }) => whole)
    assert.deepStrictEqual(
      world.notes.told.map(({ billedUsd }) => billedUsd),
      streams.map(() => null),
      "amounts that were not written"
    )
    yield* Effect.sleep(AWAY_SECONDS * 1_000)
    yield* Effect.promise(() => world.database.up())
    for (const gateway of gateways) {
      yield* served(world, gateway, keys[0])
      assert.notInclude(gateway.output(), "left to recovery")
    }
    const rows = yield* auditBooks(world, {
      scenario: "Postgres away",
      settledWithinMs: SETTLED_LIMIT_MS,
      untilCorrected: true,
      watched,
      counts: { seconds: AWAY_SECONDS, streams: streams.length }
    })
    assert.deepStrictEqual(
      rows.filter((row) => row.usage_source !== "provider"),
      [],
      "not the provider's own figures"
    )
  })
)

it.live(
  "a database that refuses writes: health reports it, requests are refused, and settlements are written later",
  () =>
    Effect.gen(function* () {
      const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
      const gateway = yield* world.start()
      const keys = [yield* world.issue(gateway, { capUsd: 0.01 }), yield* world.issue(gateway)] as const
      const elsewhere = new URL(world.database.url)
      elsewhere.pathname = "/template1"
      /** A connection keeps its setting, so all connections are closed. */
      const readOnly = (setting: "on" | "off") =>
        Effect.gen(function* () {
          const sql = yield* PgClient.PgClient
          yield* sql.unsafe(`ALTER DATABASE postgres SET default_transaction_read_only = ${setting}`)
          yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'`
        }).pipe(
          Effect.provide(Layer.fresh(PgClient.layer({ url: Redacted.make(elsewhere.href), maxConnections: 1 }))),
          Effect.scoped
        )
      const streams = yield* beginAll(world, gateway, keys, 100)
      yield* healthIs(gateway, 200)
      yield* readOnly("on")
      yield* healthIs(gateway, 503)
      const refused = yield* Effect.forEach(keys, (key) =>
        beginStream({ gateway, key, notes: world.notes, tokens: 1, everyMs: 1 })
      )
      assert.deepStrictEqual(
        refused.map(({ status }) => status),
        [503, 503]
      )
      yield* Effect.forEach(streams, ({ whole }) => whole)
      yield* readOnly("off")
      yield* healthIs(gateway, 200)
      yield* served(world, gateway, keys[0])
      yield* auditBooks(world, {
        scenario: "a database that takes no writes",
        settledWithinMs: SETTLED_LIMIT_MS,
        counts: { streams: streams.length }
      })
    })
)
