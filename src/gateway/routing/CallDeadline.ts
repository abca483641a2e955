/**
 * Ends a call once the client's deadline for an answer to begin has passed. It is ended from outside the attempt, because a client that
 * waits for a moment only says nothing about the provider: neither its circuit nor its statistics are told, the receipt is.
 */
import { Clock, Effect } from "effect"
import { gatewayError, type GatewayError, ProvidersTimedOut } from "../../domain/Errors.ts"
import { deadlineLeftMs } from "../request/ClientDeadline.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type AttemptLog } from "./AttemptLog.ts"

/** How the receipt names a call that the client's deadline ended. */
const CLIENT_TIMEOUT = "client_timeout"

/** An SDK that gives up this little before the first call's own limit needs no second timer, in milliseconds. */
const SAME_MOMENT_MS = 2_000

/** `limitMs`: how long the call takes at most by itself. Fails with `ProvidersTimedOut` where the client waits no longer. */
export const withinDeadline = <A, E, R>(
  plan: RequestPlan<unknown>,
  log: AttemptLog,
  limitMs: number,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GatewayError, R> => {
  const { deadline } = plan
  if (deadline === null) return call
  return Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
    const leftMs = deadlineLeftMs(plan, nowMs)
    const marginMs = deadline.explicit || log.record.attempts.length > 0 ? 0 : SAME_MOMENT_MS
    if (leftMs + marginMs >= limitMs) return call
    return Effect.timeoutOrElse(call, {
      duration: Math.max(0, leftMs),
      orElse: () => Effect.suspend(() => Effect.fail(timedOut(log)))
    })
  })
}

const timedOut = (log: AttemptLog): GatewayError => {
  for (const [at, { errorType, status }] of log.record.attempts.entries()) {
    if (status === "cancelled" && errorType === null) log.change(at, { status: "timeout", errorType: CLIENT_TIMEOUT })
  }
  return gatewayError(new ProvidersTimedOut({ attempts: log.record.attempts }))
}
