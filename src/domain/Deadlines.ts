/**
 * Time limits for many things at once that all have the same length. One look after them a second is cheaper than a timer for each; what is
 * late is noticed up to a second later, or a quarter of the limit where that is less.
 */
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"

const LOOK_EVERY_MS = 1_000

export interface Deadlines {
  /** Calls `onLate` unless what is answered is called before. */
  readonly begin: (onLate: () => void) => () => void
}

/** Looks until the scope closes. */
export const makeDeadlines = (limitMs: number): Effect.Effect<Deadlines, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    /** The oldest first: all have the same limit. */
    const running = new Map<object, { readonly untilMs: number; readonly onLate: () => void }>()
    const look = Effect.sync(() => {
      const nowMs = clock.currentTimeMillisUnsafe()
      for (const [one, { onLate, untilMs }] of running) {
        if (untilMs > nowMs) return
        running.delete(one)
        onLate()
      }
    })
    yield* Effect.forkScoped(
      Effect.repeat(look, Schedule.spaced(Duration.millis(Math.min(LOOK_EVERY_MS, limitMs / 4))))
    )
    return {
      begin: (onLate) => {
        const one = {}
        running.set(one, { untilMs: clock.currentTimeMillisUnsafe() + limitMs, onLate })
        return () => void running.delete(one)
      }
    }
  })
