/**
 * `kill -9` under load, repeatedly, with a new start of each process. CHAOS_KILLS is the number of
 * kills; 200 is the long run.
 */
import { assert, it } from "@effect/vitest"
import { Console, Effect, Fiber, Random } from "effect"
import { type Gateway } from "../support/Gateway.ts"
import { auditBooks, differencesOf, watchCaps } from "./books.ts"
import { client } from "./clients.ts"
import { openWorld } from "./world.ts"

const KILLS = Number(process.env["CHAOS_KILLS"] ?? 10)
const CLIENTS = 40
const THINK_MS = 1_000
const LEASE_SECONDS = 10
/** A lease, a round of recovery, and a margin for a busy machine. */
const SETTLED_LIMIT_MS = 40_000
/** A process starts within this time, even on a busy machine. */
const KILL_LIMIT_MS = 60_000
/** Kills between two progress lines of the long run. */
const REPORT_EVERY = 25
/** Two of four processes are killed at any time, so that the others serve. */
const PAIRS = [
  [0, 1],
  [2, 3]
] as const

it.live(
  `${KILLS} processes killed under load`,
  () =>
    Effect.gen(function* () {
      const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
      const { keys, notes, start } = world
      const gateways = new Map<number, Gateway>()
      for (const at of PAIRS.flat()) gateways.set(at, yield* start())
      const first = gateways.get(0) ?? assert.fail("no gateway")
      // 40 tokens of output at 2 USD a million: 0.00008 USD a request. Some keys use up their
      // budget.
      for (let at = 0; at < 10; at++) {
        yield* world.issue(first, { capUsd: at % 2 === 0 ? 0.0002 * KILLS * (at + 1) : null, mayLeave: at % 5 !== 3 })
      }
      const watched = yield* watchCaps(world)
      const startedMs = performance.now()
      let [isOver, kills] = [false, 0]
      const load = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: CLIENTS }, (_, at) => keys[at % keys.length] ?? assert.fail("no key")),
          (key) =>
            client({
              gateways: () => [...gateways.values()],
              key,
              notes,
              thinkMs: THINK_MS,
              sinceMs: () => performance.now() - startedMs,
              isOver: () => isOver
            }),
          { concurrency: "unbounded", discard: true }
        )
      )
      const killing = Effect.fnUntraced(function* (pair: readonly [number, number]) {
        while (kills < KILLS) {
          const number = ++kills
          yield* Effect.sleep(yield* Random.nextIntBetween(300, 2_000))
          const at = pair[yield* Random.nextIntBetween(0, pair.length)] ?? pair[0]
          const gateway = gateways.get(at) ?? assert.fail("no gateway")
          gateways.delete(at)
          yield* gateway.kill
          assert.deepStrictEqual(yield* differencesOf(world), [], "counters that are not their sums")
          gateways.set(at, yield* start())
          if (number % REPORT_EVERY === 0) yield* Console.log(`${number} kills, ${notes.told.length} answers`)
        }
      })
      yield* Effect.forEach(PAIRS, killing, { concurrency: "unbounded", discard: true })
      isOver = true
      yield* Fiber.join(load)
      yield* auditBooks(world, {
        scenario: "kill -9 under load",
        settledWithinMs: SETTLED_LIMIT_MS,
        watched,
        counts: {
          kills,
          requests: notes.calls,
          statuses: Object.fromEntries([...notes.statuses].toSorted(([a], [b]) => a - b))
        }
      })
      assert.isAbove(notes.told.length, kills, "there was load")
    }),
  180_000 + KILLS * KILL_LIMIT_MS
)
