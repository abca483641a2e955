/** The failure of a call that a circuit did not let through. */

/** Why a circuit is open: refused credentials, a rate limit, or any other failure. */
export type OpenBecause = "credentials_refused" | "rate_limited" | "circuit_open"

/**
 * The circuit refused the call. `retryAfterMs`: the time until it may be called; null: another
 * request is probing.
 */
export class CircuitOpenError extends Error {
  readonly _tag = "CircuitOpenError"
  readonly retryAfterMs: number | null
  readonly because: OpenBecause
  constructor(retryAfterMs: number | null, because: OpenBecause) {
    super("the circuit is open")
    this.retryAfterMs = retryAfterMs
    this.because = because
  }
}
