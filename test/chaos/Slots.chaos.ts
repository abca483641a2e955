/**
 * Concurrency slots over the death of a process, a frozen Redis and a pause of the gateway itself.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventually, type Gateway } from "../support/Gateway.ts"
import { auditBooks, slotsFree } from "./books.ts"
import { beginStream, type TestKey } from "./clients.ts"
import { CONCURRENCY, openWorld, type World } from "./world.ts"

const LEASE_SECONDS = 10
const SETTLED_LIMIT_MS = 40_000
const SLOTS_LIMIT_MS = 20_000
const FROZEN_SECONDS = 6
const PAUSES = 10
const PAUSE_MS = 900
/** A slot is released concurrently with the end of an answer. */
const SOON_MS = 2_000

/** Starts as many streams of four seconds as the key may have. */
const fill = (world: World, gateway: Gateway, key: TestKey, everyMs = 100) =>
  Effect.forEach(
    Array.from({ length: CONCURRENCY }),
    () => beginStream({ gateway, key, notes: world.notes, tokens: 40, everyMs }),
    { concurrency: "unbounded" }
  )

/**
 * Waits until as many streams as the key may have can start at once. Returns how long that took, in
 * milliseconds.
 */
const allFree = Effect.fnUntraced(function* (world: World, gateway: Gateway, key: TestKey, limitMs: number) {
  const fromMs = performance.now()
  return yield* eventually(
    Effect.gen(function* () {
      const streams = yield* fill(world, gateway, key, 25)
      const tookMs = Math.round(performance.now() - fromMs)
      const granted = streams.filter(({ status }) => status === 200)
      yield* Effect.forEach(granted, ({ whole }) => whole)
      return granted.length === streams.length ? tookMs : yield* Effect.fail(streams.map(({ status }) => status))
    }),
    limitMs,
    "all slots"
  )
})

const granted = (streams: ReadonlyArray<{ readonly status: number }>) =>
  assert.deepStrictEqual(
    streams.map(({ status }) => status),
    Array.from({ length: CONCURRENCY }, () => 200)
  )

it.live("the slots of a process that was killed are free within 20 s", () =>
  Effect.gen(function* () {
    const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
    const [dying, other] = [yield* world.start(), yield* world.start()]
    const key = yield* world.issue(dying, { tier: "pro" })
    const streams = yield* fill(world, dying, key)
    granted(streams)
    yield* Effect.forEach(streams, ({ begun }) => begun)
    yield* dying.kill
    const further = yield* beginStream({ gateway: other, key, notes: world.notes, tokens: 1, everyMs: 1 })
    assert.strictEqual(further.status, 429)
    const freeAfterMs = yield* allFree(world, other, key, SLOTS_LIMIT_MS)
    yield* auditBooks(world, {
      scenario: "slots after a kill",
      settledWithinMs: SETTLED_LIMIT_MS,
      counts: { freeAfterMs }
    })
  })
)

it.live("streams that end while Redis is frozen release their slots", () =>
  Effect.gen(function* () {
    const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
    const gateway = yield* world.start()
    const key = yield* world.issue(gateway, { tier: "pro" })
    const streams = yield* fill(world, gateway, key)
    granted(streams)
    yield* Effect.forEach(streams, ({ begun }) => begun)
    world.redis.pause()
    yield* Effect.all([Effect.sleep(FROZEN_SECONDS * 1_000), Effect.forEach(streams, ({ whole }) => whole)], {
      concurrency: "unbounded"
    })
    world.redis.resume()
    const freeAfterMs = yield* allFree(world, gateway, key, SLOTS_LIMIT_MS)
    yield* auditBooks(world, {
      scenario: "a frozen Redis",
      settledWithinMs: SETTLED_LIMIT_MS,
      counts: { seconds: FROZEN_SECONDS, freeAfterMs }
    })
  })
)

it.live("short pauses of the process itself cost no request and no slot", () =>
  Effect.gen(function* () {
    const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
    const gateway = yield* world.start()
    const key = yield* world.issue(gateway, { tier: "pro" })
    for (let pause = 0; pause < PAUSES; pause++) {
      const streams = yield* Effect.all(
        [
          fill(world, gateway, key, 25),
          Effect.gen(function* () {
            yield* Effect.sleep(pause * 10)
            yield* gateway.signal("SIGSTOP")
            yield* Effect.sleep(PAUSE_MS)
            yield* gateway.signal("SIGCONT")
          })
        ],
        { concurrency: "unbounded" }
      )
      granted(streams[0])
      yield* Effect.forEach(streams[0], ({ whole }) => whole)
      yield* slotsFree(world, SOON_MS)
    }
    yield* auditBooks(world, {
      scenario: "short pauses",
      settledWithinMs: SETTLED_LIMIT_MS,
      counts: { pauses: PAUSES, pauseMs: PAUSE_MS }
    })
  })
)
