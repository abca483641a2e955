/**
 * Time limits for many things at once. One look after all of them a second is cheaper than a timer for each; what is late is noticed up to
 * a second later, or a quarter of the limit where that is less.
 */
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"

const LOOK_EVERY_MS = 1_000

export interface Deadline {
  /** The time begins anew. */
  readonly again: () => void
  readonly end: () => void
}

export interface Deadlines {
  /** Calls `onLate` when the time is over; once, unless it is begun anew then. */
  readonly begin: (onLate: () => void) => Deadline
}

/** Looks until the scope closes. */
export const makeDeadlines = (limitMs: number): Effect.Effect<Deadlines, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const running = new Set<{ untilMs: number; readonly onLate: () => void }>()
    const untilMs = () => clock.currentTimeMillisUnsafe() + limitMs
    const look = Effect.sync(() => {
      const nowMs = clock.currentTimeMillisUnsafe()
      for (const one of running) {
        if (one.untilMs > nowMs) continue
        running.delete(one)
        one.onLate()
      }
    })
    yield* Effect.forkScoped(
      Effect.repeat(look, Schedule.spaced(Duration.millis(Math.min(LOOK_EVERY_MS, limitMs / 4))))
    )
    return {
      begin: (onLate) => {
        const one = { untilMs: untilMs(), onLate }
        running.add(one)
        return {
          again: () => {
            one.untilMs = untilMs()
            running.add(one)
          },
          end: () => void running.delete(one)
        }
      }
    }
  })
