/**
 * One time limit for many concurrent operations. A periodic check of all is cheaper than a timer
 * for each. An expired limit is noticed up to a second late, or up to a quarter of the limit if
 * that is less.
 */
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"

const CHECK_INTERVAL_MS = 1_000

export interface Deadline {
  /** Restarts the limit. */
  readonly restart: () => void
  readonly end: () => void
}

export interface Deadlines {
  /** Calls `onLate` when the limit expires: once, unless the deadline is restarted. */
  readonly begin: (onLate: () => void) => Deadline
}

/** Checks until the scope closes. */
export const makeDeadlines = (limitMs: number): Effect.Effect<Deadlines, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const running = new Set<{ untilMs: number; readonly onLate: () => void }>()
    const untilMs = () => clock.currentTimeMillisUnsafe() + limitMs
    const check = Effect.sync(() => {
      const nowMs = clock.currentTimeMillisUnsafe()
      for (const one of running) {
        if (one.untilMs > nowMs) continue
        running.delete(one)
        one.onLate()
      }
    })
    yield* Effect.forkScoped(
      Effect.repeat(check, Schedule.spaced(Duration.millis(Math.min(CHECK_INTERVAL_MS, limitMs / 4))))
    )
    return {
      begin: (onLate) => {
        const one = { untilMs: untilMs(), onLate }
        running.add(one)
        return {
          restart: () => {
            one.untilMs = untilMs()
            running.add(one)
          },
          end: () => void running.delete(one)
        }
      }
    }
  })
