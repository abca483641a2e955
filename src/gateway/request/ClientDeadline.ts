/** The client's deadline for the start of an answer, and waits that end with it. */
import { Clock, Effect } from "effect"
import { gatewayError, type GatewayError, ProvidersTimedOut } from "../../domain/Errors.ts"
import { type RequestPlan } from "./RequestPlan.ts"

export interface ClientDeadline {
  readonly ms: number
  /** True: the caller set this deadline for the gateway. False: it is the SDK's own timeout. */
  readonly explicit: boolean
}

type Deadlined = Pick<RequestPlan<unknown>, "deadline" | "startedAtMs">

/**
 * SDKs send whole seconds, rounded down. Below this the rounding error would be too large, so the
 * SDK's timeout is ignored.
 */
const SHORTEST_IMPLICIT_MS = 5_000

/**
 * The end of calls, in milliseconds. An SDK gives up at its timeout, so the answer must be there a
 * little earlier.
 */
const endOf = ({ explicit, ms }: ClientDeadline): number => {
  if (explicit) return ms
  return ms < SHORTEST_IMPLICIT_MS ? Number.POSITIVE_INFINITY : ms - Math.min(1_000, ms / 20)
}

/** The time left, in milliseconds; infinity if there is no deadline. */
export const deadlineLeftMs = ({ deadline, startedAtMs }: Deadlined, nowMs: number): number =>
  deadline === null ? Number.POSITIVE_INFINITY : startedAtMs + endOf(deadline) - nowMs

/**
 * A wait before a provider is called, such as for budget. Fails with `ProvidersTimedOut` when the
 * deadline passes.
 */
export const waitWithinDeadline = <A, E, R>(
  plan: Deadlined,
  wait: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GatewayError, R> =>
  plan.deadline === null
    ? wait
    : Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
        const leftMs = deadlineLeftMs(plan, nowMs)
        if (!Number.isFinite(leftMs)) return wait
        return Effect.timeoutOrElse(wait, {
          duration: Math.max(0, leftMs),
          orElse: () => Effect.fail(gatewayError(new ProvidersTimedOut({ attempts: [] })))
        })
      })
