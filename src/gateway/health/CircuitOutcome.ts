/** How the outcome of a call counts for its circuit. */
import { Duration, type Exit } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { ProviderError } from "../../providers/Provider.ts"

/**
 * A client's error does not count. `hasKeys`: the provider has several keys, so a failure of one
 * key does not count either.
 */
export const classify = (exit: Exit.Exit<unknown, unknown>, hasKeys: boolean): CircuitBreaker.Outcome => {
  if (exit._tag === "Success") return CircuitBreaker.success
  const error = failureOf(exit)
  if (error === undefined || error.isRequestsFault || error.reason._tag === "Unsupported") return CircuitBreaker.ignored
  if (hasKeys && error.isKeysFault) return CircuitBreaker.ignored
  return error.retryAfterMs === null
    ? CircuitBreaker.failure()
    : CircuitBreaker.failure({ retryAfter: Duration.millis(error.retryAfterMs) })
}

export const failureOf = (exit: Exit.Exit<unknown, unknown>): ProviderError | undefined => {
  if (exit._tag === "Success") return undefined
  const reason = exit.cause.reasons.find((entry) => entry._tag === "Fail")
  return reason !== undefined && reason.error instanceof ProviderError ? reason.error : undefined
}
