/**
 * Long work in turns: who has run for some milliseconds lets everybody else run before it goes on, so that no request holds the process.
 * Of all who stand in one line, one goes on each time the event loop goes round: however much long work there is, others wait
 * for one turn of it at most.
 */
import { Clock, Effect, Semaphore } from "effect"

/** How long a turn lasts. */
export const TURN_MS = 4

const TURN_NANOS = BigInt(TURN_MS) * 1_000_000n

/** One line. Its turns do not overlap, as nothing runs beside them on the thread: the time of the one under way is all it knows. */
export interface Turns {
  /** Begins the first turn of a piece of work. */
  readonly begin: () => void
  /** Whether the turn under way has lasted long enough. */
  readonly isOver: () => boolean
  /** Lets others run, and begins the next turn. */
  readonly next: Effect.Effect<void>
}

export const makeTurns: Effect.Effect<Turns> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const line = yield* Semaphore.make(1)
  let endNanos = 0n
  const begin = () => {
    endNanos = clock.monotonicTimeNanosUnsafe() + TURN_NANOS
  }
  return {
    begin,
    isOver: () => clock.monotonicTimeNanosUnsafe() >= endNanos,
    next: Effect.andThen(line.withPermits(1)(Effect.yieldNow), Effect.sync(begin))
  }
})
