/**
 * Requests that would fit their key's cap once others have settled wait here for their turn, first come, first served, a line a key.
 * An order that ends in this process lets the first one try; what ends in other processes is noticed by looking again.
 */
import { Duration, Effect } from "effect"

/** How long a request waits for news of its own process before it looks again. */
const LOOK_AGAIN = Duration.millis(200)

export class BudgetLine {
  /** In the order of their places. */
  readonly #waiting: Array<{ readonly place: number; readonly call: () => void }> = []
  /** How often money of the key came free. */
  news = 0
  members = 0
  /** How many have ever joined: the place of the next one. */
  joined = 0

  /** Until it is the turn of the one at `place`, or time to look; at once when there is news since `seen`. */
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

  /** Stands in the key's line, at one place, while `use` runs. */
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
          // Whoever leaves may have left room, and never keeps the next one waiting.
          else line.callNext()
        })
    )
  }

  /** Money of this key came free: the next in its line may try. */
  freed(keyId: string): void {
    this.#lines.get(keyId)?.callNext()
  }
}
