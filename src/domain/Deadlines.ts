/**
 * One time limit for many concurrent operations. A periodic check of all is cheaper than a timer
 * for each. An expired limit is noticed up to a second late, or up to a quarter of the limit if
 * that is less.
 */
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"

const CHECK_INTERVAL_MS = 1_000

export interface Deadline {
  /** Restarts the limit. */
  restart(): void
  end(): void
}

export interface Deadlines {
  /** Calls `onLate` when the limit expires: once, unless the deadline is restarted. */
  readonly begin: (onLate: () => void) => Deadline
}

/** Checks until the scope closes. */
export const makeDeadlines = (limitMs: number): Effect.Effect<Deadlines, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const running = new Set<RunningDeadline>()
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
    return { begin: (onLate) => new RunningDeadline(onLate, limitMs, clock, running) }
  })

/** A deadline among those that run. A class, because there are several for each request. */
class RunningDeadline implements Deadline {
  readonly onLate: () => void
  readonly #limitMs: number
  readonly #clock: Clock.Clock
  readonly #running: Set<RunningDeadline>
  untilMs = 0

  constructor(onLate: () => void, limitMs: number, clock: Clock.Clock, running: Set<RunningDeadline>) {
    this.onLate = onLate
    this.#limitMs = limitMs
    this.#clock = clock
    this.#running = running
    this.restart()
  }

  restart(): void {
    this.untilMs = this.#clock.currentTimeMillisUnsafe() + this.#limitMs
    this.#running.add(this)
  }

  end(): void {
    this.#running.delete(this)
  }
}
