/** How long a client waits for an answer to begin, and waits that end with it. */
import { Clock, Effect } from "effect"
import { gatewayError, type GatewayError, ProvidersTimedOut } from "../../domain/Errors.ts"
import { type RequestPlan } from "./RequestPlan.ts"

export interface ClientDeadline {
  readonly ms: number
  /** True: the caller gave this time for the gateway to use up. False: it is the SDK's own timeout. */
  readonly explicit: boolean
}

type Deadlined = Pick<RequestPlan<unknown>, "deadline" | "startedAtMs">

/** SDKs send whole seconds, cut off. Below this the cut-off part would weigh too much, so the SDK's timeout is ignored. */
const SHORTEST_IMPLICIT_MS = 5_000

/** When calls end, in milliseconds. An SDK gives up by itself at its timeout, so the answer has to be there a little earlier. */
const endOf = ({ explicit, ms }: ClientDeadline): number => {
  if (explicit) return ms
  return ms < SHORTEST_IMPLICIT_MS ? Number.POSITIVE_INFINITY : ms - Math.min(1_000, ms / 20)
}

/** How much longer the client waits, in milliseconds; infinity: as long as it takes. */
export const deadlineLeftMs = ({ deadline, startedAtMs }: Deadlined, nowMs: number): number =>
  deadline === null ? Number.POSITIVE_INFINITY : startedAtMs + endOf(deadline) - nowMs

/** A wait before any provider is called, such as for budget. Fails with `ProvidersTimedOut` once the client waits no longer. */
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
