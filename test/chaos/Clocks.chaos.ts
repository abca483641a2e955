/**
 * A process whose time differs from the others': it sleeps past its lease, or its clock is an hour
 * off.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "../support/Gateway.ts"
import { skewedBy } from "../support/skewedBy.ts"
import { auditBooks, watchCaps } from "./books.ts"
import { beginStream } from "./clients.ts"
import { openWorld } from "./world.ts"

const LEASE_SECONDS = 10
const SETTLED_LIMIT_MS = 40_000
const STREAMS = 4
const HOUR_MS = 3_600_000

it.live("a process that slept past its lease corrects the estimate of recovery", () =>
  Effect.gen(function* () {
    const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
    const asleep = yield* world.start()
    yield* world.start()
    const keys = [yield* world.issue(asleep, { capUsd: 0.01 }), yield* world.issue(asleep)]
    const watched = yield* watchCaps(world)
    const streams = yield* Effect.forEach(
      keys.flatMap((key) => Array.from({ length: STREAMS }, () => key)),
      (key) => beginStream({ gateway: asleep, key, notes: world.notes, tokens: 50, everyMs: 100 }),
      { concurrency: "unbounded" }
    )
    yield* Effect.forEach(streams, ({ begun }) => begun)
    yield* asleep.signal("SIGSTOP")
    const sleptMs = performance.now()
    yield* eventually(
      Effect.filterOrFail(
        world.sql<{ readonly count: number }>`
          SELECT count(*)::int AS count FROM generations WHERE usage_source = 'estimated'`,
        ([row]) => row?.count === streams.length
      ),
      SETTLED_LIMIT_MS,
      "estimates"
    )
    const asleepMs = Math.round(performance.now() - sleptMs)
    yield* asleep.signal("SIGCONT")
    yield* Effect.forEach(streams, ({ whole }) => whole, { concurrency: "unbounded" })
    const none = Effect.filterOrFail(
      world.sql`SELECT id FROM generations WHERE usage_source = 'estimated'`,
      ({ length }) => length === 0
    )
    yield* eventually(none, SETTLED_LIMIT_MS, "the truth")
    yield* auditBooks(world, {
      scenario: "asleep past its lease",
      settledWithinMs: SETTLED_LIMIT_MS,
      watched,
      counts: { asleepMs, streams: streams.length }
    })
  })
)

for (const hours of [1, -1]) {
  it.live(
    `a process whose clock is ${hours} h off does not settle others' streams, and its own are not settled by others`,
    () =>
      Effect.gen(function* () {
        const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
        const gateways = [yield* world.start(), yield* world.start(skewedBy(hours * HOUR_MS))] as const
        const keys = [yield* world.issue(gateways[0], { capUsd: 0.01 }), yield* world.issue(gateways[0])]
        const watched = yield* watchCaps(world)
        const streams = yield* Effect.forEach(
          gateways.flatMap((gateway) =>
            keys.flatMap((key) => Array.from({ length: STREAMS }, () => ({ gateway, key })))
          ),
          ({ gateway, key }) => beginStream({ gateway, key, notes: world.notes, tokens: 100, everyMs: 250 }),
          { concurrency: "unbounded" }
        )
        yield* Effect.forEach(streams, ({ whole }) => whole, { concurrency: "unbounded" })
        const rows = yield* auditBooks(world, {
          scenario: `a clock ${hours} h off`,
          settledWithinMs: SETTLED_LIMIT_MS,
          watched,
          counts: { streams: streams.length }
        })
        assert.deepStrictEqual(
          rows.map((row) => row.usage_source),
          streams.map(() => "provider")
        )
        const [clocks] = yield* world.sql<{ readonly apart: number }>`
        SELECT max(created_at_ms) - min(created_at_ms) AS apart FROM generations`
        assert.isAbove(Number(clocks?.apart), HOUR_MS / 2, "the clock was set off")
      })
  )
}
