/**
 * How long the search through one request may take. Every pattern here is linear and every candidate's check is bounded, but there may
 * be very many candidates: a megabyte of nearly-numbers. Whoever checks a candidate asks first; once the time is over the
 * search has failed, and what was not searched does not leave.
 */

/** Well under the second that one request may hold the process. */
export const LIMIT_MS = 700

export class Budget {
  readonly #nowNanos: () => bigint
  readonly #end: bigint
  #over = false

  /** `nowNanos` is a monotonic clock. */
  constructor(nowNanos: () => bigint, limitMs: number = LIMIT_MS) {
    this.#nowNanos = nowNanos
    this.#end = nowNanos() + BigInt(limitMs) * 1_000_000n
  }

  /** Whether the time is over; once it is, it stays so. */
  isOver(): boolean {
    this.#over ||= this.#nowNanos() > this.#end
    return this.#over
  }

  /** The search cannot be finished, whatever time is left. */
  end(): void {
    this.#over = true
  }
}
