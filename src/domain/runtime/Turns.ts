/**
 * Divides long synchronous work into turns. After some milliseconds the work yields, so that no
 * request blocks the process. All work that shares a queue resumes one at a time, once per round of
 * the event loop: other requests wait for one turn at most, however much long work is queued.
 */
import { Clock, Effect, Semaphore } from "effect"

/** Length of a turn. */
export const TURN_MS = 4

export const TURN_NANOS = BigInt(TURN_MS) * 1_000_000n

/**
 * One queue. Turns do not overlap, because JavaScript has one thread, so the end of the current
 * turn is the only state.
 */
export interface Turns {
  /** Begins the first turn of a piece of work. */
  readonly begin: () => void
  /** True if the current turn has lasted long enough. */
  readonly isOver: () => boolean
  /** Yields, then begins the next turn. */
  readonly next: Effect.Effect<void>
}

export const makeTurns: Effect.Effect<Turns> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const queue = yield* Semaphore.make(1)
  let endNanos = 0n
  const begin = () => {
    endNanos = clock.monotonicTimeNanosUnsafe() + TURN_NANOS
  }
  return {
    begin,
    isOver: () => clock.monotonicTimeNanosUnsafe() >= endNanos,
    next: Effect.andThen(queue.withPermits(1)(Effect.yieldNow), Effect.sync(begin))
  }
})
