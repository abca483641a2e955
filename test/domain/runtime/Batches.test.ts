import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { type Batch, Batches } from "../../../src/domain/runtime/Batches.ts"

/** A source of batches that come when the test says so. */
const source = () => {
  const waiting: Array<Batch<number>> = []
  let arrived = Deferred.makeUnsafe<void>()
  const events = new Batches<number>(
    () => (waiting.length > 0 ? Effect.void : Deferred.await(arrived)),
    () => waiting.shift() ?? null
  )
  const send = (...batch: Batch<number>) => {
    waiting.push(batch)
    Deferred.doneUnsafe(arrived, Effect.void)
    arrived = Deferred.makeUnsafe<void>()
  }
  return { events, send }
}

const failing = <E>(error: E) =>
  new Batches<number, E>(
    () => Effect.void,
    () => Effect.fail(error)
  )

describe("Batches", () => {
  it.effect("pass through stages in their order, and a stage that gives null waits for the next", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const events = Batches.of([1])
        .after([2])
        .map((batch) => {
          seen.push(`first ${batch.join()}`)
          return batch[0] === 2 ? null : batch
        })
      const all = events.map(([one]) => {
        seen.push(`second ${one}`)
        return Effect.succeed([`${one}`] as const)
      })
      assert.deepStrictEqual(yield* Stream.runCollect(all.stream), ["1"])
      assert.deepStrictEqual(seen, ["first 2", "first 1", "second 1"])
    })
  )

  it.effect("a stage sees the end once, and gives the last batch", () =>
    Effect.gen(function* () {
      const ends: Array<unknown> = []
      const events = Batches.of([1]).through<number, never, never>(
        (batch) => batch,
        (end) => {
          ends.push(end)
          return Effect.succeed([2])
        }
      )
      assert.deepStrictEqual(yield* Stream.runCollect(events.stream), [1, 2])
      assert.isTrue(Cause.isDone(yield* Effect.flip(events.pull)))
      assert.deepStrictEqual(ends.map(Cause.isDone), [true])
    })
  )

  it.effect("a failure passes the stages to the one that answers it", () =>
    Effect.gen(function* () {
      const events = failing("cut")
        .map((batch) => batch)
        .through<string, never, never>(
          () => null,
          (end) => Effect.succeed([Cause.isDone(end) ? "end" : end])
        )
      assert.deepStrictEqual(yield* Stream.runCollect(events.stream), ["cut"])
      const refused = Batches.of([1])
        .map(() => Effect.fail("budget"))
        .map((batch) => batch)
      assert.strictEqual(yield* Effect.flip(Stream.runDrain(refused.stream)), "budget")
    })
  )

  it.effect("a defect of a stage is a defect of its reader, and is no end", () =>
    Effect.gen(function* () {
      const events = Batches.of([1])
        .map((): Batch<number> => {
          throw new Error("broken")
        })
        .through<number, never, never>(
          (batch) => batch,
          () => assert.fail("a defect is no end")
        )
      const exit = yield* Effect.exit(events.pull)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    })
  )

  it.effect("a reader that is interrupted while it waits takes nothing", () =>
    Effect.gen(function* () {
      const { events, send } = source()
      const numbers = events.map((batch) => batch)
      const reader = yield* Effect.forkChild(numbers.pull, { startImmediately: true })
      yield* Fiber.interrupt(reader)
      send(1, 2)
      assert.deepStrictEqual(yield* numbers.pull, [1, 2])
    })
  )
})
