/** Requests that wait for one key's budget get it in the order in which they came. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { BudgetQueue } from "../../../src/gateway/billing/BudgetQueue.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
/** Some requests arrive, a reservation is released, and time passes in between. */
const Steps = Schema.Array(
  Schema.Struct({
    step: Schema.Literals(["come", "come", "free"]),
    afterMs: Schema.Union([between(0, 20), between(0, 500)])
  })
)

it.effect.prop(
  "first come, first served, however long they wait",
  { steps: Steps },
  ({ steps }) =>
    Effect.gen(function* () {
      const queue = new BudgetQueue()
      const served: Array<number> = []
      let room = 0
      const request = (id: number) =>
        queue.join("key", (line, place) =>
          Effect.gen(function* () {
            for (;;) {
              const seen = line.news
              if (room > 0) {
                room--
                return void served.push(id)
              }
              yield* line.wait(seen, place)
            }
          })
        )
      const free = Effect.sync(() => {
        room++
        queue.freed("key")
      })
      const requests: Array<Fiber.Fiber<void>> = []
      for (const { afterMs, step } of steps) {
        yield* TestClock.adjust(afterMs)
        if (step === "free") yield* free
        else requests.push(yield* Effect.forkChild(request(requests.length), { startImmediately: true }))
      }
      for (const _ of requests) yield* Effect.andThen(free, TestClock.adjust(1))
      yield* Fiber.awaitAll(requests)
      assert.deepStrictEqual(
        served,
        requests.map((_, id) => id)
      )
    }),
  { arbitrary: { size: 20 } }
)
