/** The guarantees of every `OutageStore`, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { idBound } from "../../../src/domain/Ids.ts"
import { type Outage, type OutageCause } from "../../../src/domain/Outage.ts"
import { KEPT_MS, MOST_KEPT, type OutageChange, OutageStore } from "../../../src/store/outages/OutageStore.ts"

const T0 = Date.UTC(2026, 10, 21)
const MINUTE_MS = 60_000

const refused: OutageCause = { errorType: "credentials_refused", httpStatus: 401, message: "Incorrect API key" }
const unreachable: OutageCause = { errorType: "unreachable", httpStatus: null, message: null }

const idOf = (provider: string, model: string | null, minute: number) =>
  idBound("out", T0 + minute * MINUTE_MS) + Buffer.from(`${provider} ${model}`).toString("hex").padEnd(20, "0")

const opens = (
  provider: string,
  model: string | null,
  minute: number,
  more: Partial<NonNullable<OutageChange["opened"]>> = {}
): OutageChange => ({
  provider,
  model,
  opened: {
    id: idOf(provider, model, minute),
    atMs: T0 + minute * MINUTE_MS,
    openings: 1,
    cause: unreachable,
    process: "host:1",
    ...more
  },
  closedAtMs: null,
  closedBy: null
})

const closes = (provider: string, model: string | null, minute: number): OutageChange => ({
  provider,
  model,
  opened: null,
  closedAtMs: T0 + minute * MINUTE_MS,
  closedBy: "answer"
})

const outage = (provider: string, model: string | null, minute: number, more: Partial<Outage> = {}): Outage => ({
  id: idOf(provider, model, minute),
  provider,
  model,
  openedAtMs: T0 + minute * MINUTE_MS,
  closedAtMs: null,
  closedBy: null,
  openings: 1,
  cause: unreachable,
  process: "host:1",
  ...more
})

const until = (minute: number) => ({ closedAtMs: T0 + minute * MINUTE_MS, closedBy: "answer" }) as const

export const outageSuite = (it: Vitest.MethodsNonLive<OutageStore>): void => {
  describe("OutageStore", () => {
    it.effect("keeps each outage with its cause, its end and the process, and tells circuits apart", () =>
      Effect.gen(function* () {
        const store = yield* OutageStore
        yield* store.record(closes("apart", "m", 0))
        yield* store.record(opens("apart", "m", 0, { cause: null }))
        yield* store.record(opens("apart", null, 1, { cause: refused, process: "host:2" }))
        yield* store.record(opens("apart", "n", 2))
        yield* store.record(closes("apart", "m", 3))
        yield* store.record(closes("apart", "m", 4))
        yield* store.record(opens("apart", "m", 20))
        const all = [
          outage("apart", "m", 20),
          outage("apart", "n", 2),
          outage("apart", null, 1, { cause: refused, process: "host:2" }),
          outage("apart", "m", 0, { cause: null, ...until(3) })
        ]
        assert.deepStrictEqual(yield* store.list("apart", 10), all)
        assert.deepStrictEqual(yield* store.list("apart", 2), all.slice(0, 2))
        assert.deepStrictEqual(yield* store.list("other", 10), [])
        const latest = (yield* store.latest(T0 + MINUTE_MS)).filter((one) => one.outage.provider === "apart")
        assert.deepStrictEqual(latest, [
          { outage: all[2] ?? assert.fail(), openings: 1 },
          { outage: all[0] ?? assert.fail(), openings: 1 },
          { outage: all[1] ?? assert.fail(), openings: 1 }
        ])
      })
    )

    it.effect("a flapping circuit is one outage an hour, which counts how often it opened", () =>
      Effect.gen(function* () {
        const store = yield* OutageStore
        for (let minute = 0; minute < 90; minute++) {
          yield* store.record({
            ...opens("flapping", "m", minute, { openings: 2, cause: minute === 59 ? refused : unreachable }),
            ...until(minute + 0.5)
          })
        }
        assert.deepStrictEqual(yield* store.list("flapping", 10), [
          outage("flapping", "m", 60, { openings: 60, ...until(89.5) }),
          outage("flapping", "m", 0, { openings: 120, cause: refused, ...until(59.5) })
        ])
        const openings = (fromMs: number) =>
          Effect.map(store.latest(fromMs), (all) => all.find((one) => one.outage.provider === "flapping")?.openings)
        assert.strictEqual(yield* openings(T0), 180)
        assert.strictEqual(yield* openings(T0 + MINUTE_MS), 60)
        assert.strictEqual(yield* openings(T0 + 61 * MINUTE_MS), 0)
      })
    )

    it.effect("an outage whose end was never told ends when the circuit opens again", () =>
      Effect.gen(function* () {
        const store = yield* OutageStore
        yield* store.record(opens("forgotten", "m", 0))
        yield* store.record(opens("forgotten", "m", 61))
        assert.deepStrictEqual(yield* store.list("forgotten", 10), [
          outage("forgotten", "m", 61),
          outage("forgotten", "m", 0, { ...until(61), closedBy: "restart" })
        ])
      })
    )

    it.effect("the newest rows of a circuit are kept, for a month", () =>
      Effect.gen(function* () {
        const store = yield* OutageStore
        for (let at = 0; at < MOST_KEPT + 5; at++)
          yield* store.record({ ...opens("often", "m", at * 10), ...until(at * 10 + 1) })
        const kept = yield* store.list("often", 1_000)
        assert.strictEqual(kept.length, MOST_KEPT)
        assert.strictEqual(kept[0]?.openedAtMs, T0 + (MOST_KEPT + 4) * 10 * MINUTE_MS)
        const later = KEPT_MS / MINUTE_MS + 5_000
        yield* store.record(opens("often", "m", later))
        assert.deepStrictEqual((yield* store.list("often", 1_000)).at(0), outage("often", "m", later))
        for (const { openedAtMs } of yield* store.list("often", 1_000))
          assert.isAtLeast(openedAtMs, T0 + 5_000 * MINUTE_MS)
      })
    )
  })
}
