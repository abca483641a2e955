/**
 * The guarantees of every LiveProcesses store, in memory or in a database. `aged` lets time pass
 * without a heartbeat.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { LiveProcesses, type ProcessEntry } from "../../../src/store/processes/LiveProcesses.ts"

const entry = (id: string, sharesLimits: boolean): ProcessEntry => ({
  id,
  host: `host-of-${id}`,
  pid: 4_711,
  sharesLimits
})
const alone = entry("alone", false)
const other = entry("other", false)
const sharing = entry("sharing", true)

export const liveProcessesSuite =
  <R>(aged: (ms: number) => Effect.Effect<void, unknown, R>) =>
  (it: Vitest.MethodsNonLive<LiveProcesses | R>): void => {
    describe("LiveProcesses", () => {
      it.effect("admits a process that shares no limits while it is alone, and otherwise returns the rival", () =>
        Effect.gen(function* () {
          const { enter, leave } = yield* LiveProcesses
          assert.deepStrictEqual(yield* enter(alone), Option.none())
          const rival = Option.getOrThrow(yield* enter(other))
          assert.deepInclude(rival, { host: "host-of-alone", pid: 4_711 })
          assert.isNumber(rival.startedAtMs)
          yield* leave(alone.id)
          assert.deepStrictEqual(yield* enter(other), Option.none())
          yield* leave(other.id)
        })
      )

      it.effect("admits processes that share limits next to any other, and no process that does not share them", () =>
        Effect.gen(function* () {
          const { enter, leave, renew } = yield* LiveProcesses
          assert.deepStrictEqual(yield* enter(sharing), Option.none())
          assert.deepStrictEqual(yield* enter(entry("sharing too", true)), Option.none())
          yield* leave("sharing too")
          assert.isTrue(Option.isSome(yield* enter(alone)))
          yield* leave(sharing.id)
          assert.deepStrictEqual(yield* enter(alone), Option.none())
          assert.deepStrictEqual(yield* renew(alone), Option.none())
          assert.deepStrictEqual(yield* enter(sharing), Option.none())
          assert.deepStrictEqual(yield* renew(sharing), Option.none())
          assert.strictEqual(Option.getOrThrow(yield* renew(alone)).host, "host-of-sharing")
          yield* leave(alone.id)
          yield* leave(sharing.id)
        })
      )

      it.effect("admits one of many concurrent processes", () =>
        Effect.gen(function* () {
          const { enter, leave } = yield* LiveProcesses
          const ids = Array.from({ length: 8 }, (_, at) => `at once ${at}`)
          const rivals = yield* Effect.forEach(ids, (id) => enter(entry(id, false)), { concurrency: "unbounded" })
          assert.lengthOf(rivals.filter(Option.isNone), 1)
          yield* Effect.forEach(ids, leave, { discard: true })
        })
      )

      it.effect("counts a process as dead 15 s after its last heartbeat; one that returns is alive again", () =>
        Effect.gen(function* () {
          const { enter, leave, renew } = yield* LiveProcesses
          yield* enter(alone)
          yield* aged(10_000)
          yield* renew(alone)
          yield* aged(10_000)
          assert.isTrue(Option.isSome(yield* enter(other)))
          yield* aged(6_000)
          assert.deepStrictEqual(yield* enter(other), Option.none())
          assert.strictEqual(Option.getOrThrow(yield* renew(alone)).host, "host-of-other")
          assert.strictEqual(Option.getOrThrow(yield* renew(other)).host, "host-of-alone")
          yield* leave(alone.id)
          yield* leave(other.id)
        })
      )
    })
  }
