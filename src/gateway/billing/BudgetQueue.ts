/**
 * One queue for each key, first come, first served. A request waits here if it would fit its key's
 * cap once other requests have settled. A request that ends in this process wakes the first in the
 * queue. Requests that end in other processes are noticed by polling.
 */
import { Duration, Effect } from "effect"

/** The polling interval. */
const LOOK_AGAIN = Duration.millis(200)

export class BudgetLine {
  /** Sorted by place. */
  readonly #waiting: Array<{ readonly place: number; readonly call: () => void }> = []
  /** How often a reservation of the key was released. */
  news = 0
  members = 0
  /** How many requests have ever joined; the place of the next one. */
  joined = 0

  /**
   * Waits until the request at `place` is next, or until it is time to poll. Returns at once if a
   * reservation was released since `seen`.
   */
  wait(seen: number, place: number): Effect.Effect<void> {
    const turn = Effect.callback<void>((resume) => {
      if (this.news !== seen) return resume(Effect.void)
      const waiting = { place, call: () => resume(Effect.void) }
      const next = this.#waiting.findIndex((other) => other.place > place)
      this.#waiting.splice(next === -1 ? this.#waiting.length : next, 0, waiting)
      return Effect.sync(() => {
        const at = this.#waiting.indexOf(waiting)
        if (at >= 0) this.#waiting.splice(at, 1)
      })
    })
    return Effect.asVoid(Effect.timeoutOption(turn, LOOK_AGAIN))
  }

  callNext(): void {
    this.news++
    this.#waiting.shift()?.call()
  }
}

export class BudgetQueue {
  readonly #lines = new Map<string, BudgetLine>()

  /** Holds one place in the key's queue while `use` runs. */
  join<A, E, R>(
    keyId: string,
    use: (line: BudgetLine, place: number) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const line = this.#lines.get(keyId) ?? new BudgetLine()
        this.#lines.set(keyId, line)
        line.members++
        return { line, place: line.joined++ }
      }),
      ({ line, place }) => use(line, place),
      ({ line }) =>
        Effect.sync(() => {
          if (--line.members === 0) this.#lines.delete(keyId)
          // A request that leaves may have made room, so the next one tries.
          else line.callNext()
        })
    )
  }

  /** A reservation of this key was released: wakes the next request in its queue. */
  freed(keyId: string): void {
    this.#lines.get(keyId)?.callNext()
  }
}
