/**
 * One time limit for many concurrent operations. A periodic check of all is cheaper than a timer
 * for each. An expired limit is noticed up to a second late, or up to a quarter of the limit if
 * that is less.
 */
import { Clock, Duration, Effect, Schedule, type Scope } from "effect"
import { TransientMap } from "./TransientMap.ts"

const CHECK_INTERVAL_MS = 1_000

export interface Deadline {
  /** Restarts the limit. */
  restart(): void
  /** No limit until it is restarted. Cheaper than `end`, which must still follow. */
  pause(): void
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
    const running: Running = { deadlines: new TransientMap(), last: 0 }
    const check = Effect.sync(() => {
      const nowMs = clock.currentTimeMillisUnsafe()
      running.deadlines.forEach((one) => {
        if (one.untilMs > nowMs) return
        one.end()
        one.onLate()
      })
    })
    yield* Effect.forkScoped(
      Effect.repeat(check, Schedule.spaced(Duration.millis(Math.min(CHECK_INTERVAL_MS, limitMs / 4))))
    )
    return { begin: (onLate) => new RunningDeadline(onLate, limitMs, clock, running) }
  })

interface Running {
  readonly deadlines: TransientMap<number, RunningDeadline>
  /** The key of the latest deadline. */
  last: number
}

/** A deadline among those that run. A class, because there are several for each request. */
class RunningDeadline implements Deadline {
  readonly onLate: () => void
  readonly #limitMs: number
  readonly #clock: Clock.Clock
  readonly #running: Running
  readonly #key: number
  #isRunning = false
  untilMs = 0

  constructor(onLate: () => void, limitMs: number, clock: Clock.Clock, running: Running) {
    this.onLate = onLate
    this.#limitMs = limitMs
    this.#clock = clock
    this.#running = running
    this.#key = ++running.last
    this.restart()
  }

  restart(): void {
    this.untilMs = this.#clock.currentTimeMillisUnsafe() + this.#limitMs
    if (this.#isRunning) return
    this.#isRunning = true
    this.#running.deadlines.set(this.#key, this)
  }

  pause(): void {
    this.untilMs = Number.POSITIVE_INFINITY
  }

  end(): void {
    this.#isRunning = false
    this.#running.deadlines.delete(this.#key)
  }
}
