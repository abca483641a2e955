/**
 * Time in tests that talk over real sockets: the test's clock moves in steps, and between two steps the event loop turns, so that
 * what the last step set off (bytes on their way, timers set anew) happens before the next. Nothing here waits for real time.
 */
import { Effect, type Fiber } from "effect"
import { TestClock } from "effect/testing"

/** One turn of the real event loop. */
export const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Turns the event loop until something is so. */
export const until = (isSo: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (isSo() ? Effect.void : Effect.andThen(turn, until(isSo))))

/** Moves the clock on, `stepMs` at a time, until something is so. */
export const advanceUntil = (isSo: () => boolean, stepMs = 1_000): Effect.Effect<void> =>
  Effect.suspend(() =>
    isSo()
      ? Effect.void
      : TestClock.adjust(stepMs).pipe(Effect.andThen(settle), Effect.andThen(advanceUntil(isSo, stepMs)))
  )

/** Moves the clock on until a fiber has ended, and answers what it ended with. */
export const advanceThrough = <A, E>(fiber: Fiber.Fiber<A, E>, stepMs = 1_000): Effect.Effect<A, E> =>
  Effect.flatMap(
    advanceUntil(() => fiber.pollUnsafe() !== undefined, stepMs),
    () => Effect.flatten(Effect.sync(() => fiber.pollUnsafe() ?? Effect.die("the fiber has ended")))
  )

/** A few turns: bytes go from one socket of this process to another in two. */
export const settle = Effect.gen(function* () {
  for (let turns = 0; turns < 4; turns++) yield* turn
})
