/**
 * A minute of faults under load. Afterwards the ledger is consistent: no cap was exceeded at any
 * sample, counters are the sums of their entries, every answer that a client has is one generation
 * with the amount that the client was told, nothing stays reserved after a lease and a round of the
 * reconciler, and no limit of requests, tokens or concurrency was exceeded.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type Gateway } from "../support/Gateway.ts"
import { auditBooks, watchCaps } from "./books.ts"
import { client } from "./clients.ts"
import { mostBeyond } from "./limits.ts"
import { openWorld } from "./world.ts"

const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? 60)
const CLIENTS = Number(process.env["CHAOS_CLIENTS"] ?? 500)
const GATEWAYS = 4
const LEASE_SECONDS = 30
/**
 * One lease, one round of the reconciler, which runs five times a lease, and a margin for a busy
 * machine.
 */
const SETTLED_LIMIT_MS = LEASE_SECONDS * 1_000 * 1.2 + 5_000
/**
 * So low that every run reaches them, even on a slow machine. The last two are those of the keys
 * that are checked.
 */
const REQUESTS_PER_MINUTE = 6
const TOKENS_PER_MINUTE = 900
const CONCURRENCY = Math.max(1, Math.floor(CLIENTS / 80))
/**
 * What a token bucket may get back from requests that were granted before a period: their
 * estimates.
 */
const GIVEN_BACK = CONCURRENCY * 150
/** Each client sends about two requests in this time. */
const THINK_MS = 4_000

it.live("a minute of faults", () =>
  Effect.gen(function* () {
    const world = yield* openWorld({
      leaseSeconds: LEASE_SECONDS,
      namesCalls: false,
      tiers: {
        free: { requests_per_minute: REQUESTS_PER_MINUTE },
        pro: { requests_per_minute: 3_000, tokens_per_minute: TOKENS_PER_MINUTE, concurrency: CONCURRENCY }
      }
    })
    const { database, keys, notes, provider, redis, start } = world
    const gateways: Array<Gateway | null> = []
    for (let at = 0; at < GATEWAYS; at++) gateways.push(yield* start())
    const up = () => gateways.filter((gateway) => gateway !== null)
    const replace = Effect.fnUntraced(function* (at: number) {
      const gateway = gateways[at]
      gateways[at] = null
      if (gateway !== null && gateway !== undefined) yield* gateway.kill
      gateways[at] = yield* start()
    })

    // 40 tokens of output at 2 USD a million and about 30 of prompt: about 0.00011 USD a request.
    const [first] = up()
    if (first === undefined) return assert.fail("no gateway")
    for (let at = 0; at < 20; at++) {
      const isWatched = at % 5 === 3
      const tier = at % 5 === 4 ? "free" : isWatched ? "pro" : "enterprise"
      yield* world.issue(first, {
        tier,
        capUsd: at % 2 === 0 ? 0.002 * (at + 1) : null,
        requestsPerMinute: tier === "free" ? REQUESTS_PER_MINUTE : 3_000,
        model: isWatched ? "w/slow" : "mock/lorem",
        mayLeave: !isWatched
      })
    }

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
    const watched = yield* watchCaps(world)

    const at = <R>(share: number, mishap: Effect.Effect<unknown, never, R>) =>
      Effect.andThen(Effect.sleep(share * SECONDS * 1_000), mishap)
    yield* Effect.all(
      [
        at(0.15, replace(0)),
        at(
          0.35,
          Effect.andThen(
            Effect.andThen(
              Effect.sync(() => redis.pause()),
              Effect.sleep("3 seconds")
            ),
            Effect.sync(() => redis.resume())
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
    const mostAtOnce = provider.mostAtOnce()
    yield* auditBooks(world, {
      scenario: "a minute of mishaps",
      settledWithinMs: SETTLED_LIMIT_MS,
      watched,
      counts: {
        statuses: Object.fromEntries([...notes.statuses].toSorted(([a], [b]) => a - b)),
        limited: Object.fromEntries(notes.limited),
        watchedAtOnce: [...mostAtOnce.values()]
      }
    })

    for (const key of keys) {
      const grants = notes.granted.get(key.id) ?? []
      // A request may be granted with a fraction of a request in the bucket, which counts as one.
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
