/**
 * Ends a call when the client's deadline for the start of an answer passes. The call is ended from
 * outside the attempt, so it is on the receipt but counts neither for the provider's circuit nor
 * for its statistics: a short deadline is not a fault of the provider.
 */
import { Effect } from "effect"
import { gatewayError, type GatewayError, ProvidersTimedOut } from "../../domain/Errors.ts"
import { deadlineLeftMs } from "../request/ClientDeadline.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type AttemptLog } from "./AttemptLog.ts"

/** The error type on the receipt of a call that the client's deadline ended. */
const CLIENT_TIMEOUT = "client_timeout"

/**
 * If the SDK's deadline ends at most this many milliseconds before the first call's own limit, the
 * second timer is saved.
 */
const SAME_MOMENT_MS = 2_000

/**
 * `limitMs`: the call's own limit. Fails with `ProvidersTimedOut` when the client's deadline
 * passes.
 */
export const withinDeadline = <A, E, R>(
  plan: RequestPlan<unknown>,
  log: AttemptLog,
  { limitMs, nowMs }: { readonly limitMs: number; readonly nowMs: number },
  call: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GatewayError, R> => {
  const { deadline } = plan
  if (deadline === null) return call()
  const leftMs = deadlineLeftMs(plan, nowMs)
  const marginMs = deadline.explicit || log.record.attempts.length > 0 ? 0 : SAME_MOMENT_MS
  if (leftMs + marginMs >= limitMs) return call()
  return Effect.timeoutOrElse(Effect.suspend(call), {
    duration: Math.max(0, leftMs),
    orElse: () => Effect.suspend(() => Effect.fail(timedOut(log)))
  })
}

const timedOut = (log: AttemptLog): GatewayError => {
  for (const [at, { errorType, status }] of log.record.attempts.entries()) {
    if (status === "cancelled" && errorType === null) log.change(at, { status: "timeout", errorType: CLIENT_TIMEOUT })
  }
  return gatewayError(new ProvidersTimedOut({ attempts: log.record.attempts }))
}
