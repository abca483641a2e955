/**
 * Time in tests over real sockets. The test's clock moves in steps. Between two steps the event
 * loop turns, so that the effects of one step (bytes in transit, new timers) happen before the
 * next. Nothing here waits for real time.
 */
import { Effect, type Fiber } from "effect"
import { TestClock } from "effect/testing"

/** One turn of the real event loop. */
export const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Turns the event loop until the condition holds. */
export const until = (isSo: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (isSo() ? Effect.void : Effect.andThen(turn, until(isSo))))

/** Moves the clock by `stepMs` at a time until the condition holds. */
export const advanceUntil = (isSo: () => boolean, stepMs = 1_000): Effect.Effect<void> =>
  Effect.suspend(() =>
    isSo()
      ? Effect.void
      : TestClock.adjust(stepMs).pipe(Effect.andThen(settle), Effect.andThen(advanceUntil(isSo, stepMs)))
  )

/** Moves the clock until a fiber has ended, and returns its result. */
export const advanceThrough = <A, E>(fiber: Fiber.Fiber<A, E>, stepMs = 1_000): Effect.Effect<A, E> =>
  Effect.flatMap(
    advanceUntil(() => fiber.pollUnsafe() !== undefined, stepMs),
    () => Effect.flatten(Effect.sync(() => fiber.pollUnsafe() ?? Effect.die("the fiber has ended")))
  )

/** A few turns: bytes take two from one socket of this process to another. */
export const settle = Effect.gen(function* () {
  for (let turns = 0; turns < 4; turns++) yield* turn
})
