/**
 * Gives a call up once the client's patience for an answer to begin is over. It ends from outside the attempt, because a client that
 * waits for a moment only says nothing about the provider: neither its circuit nor its figures hear of it, the receipt does.
 */
import { Clock, Effect } from "effect"
import { gatewayError, type GatewayError, ProvidersTimedOut } from "../domain/Errors.ts"
import { type Order, type Patience } from "./Order.ts"

/** How the receipt names a call that the client's patience ended. */
const IMPATIENT = "client_timeout"

/** The SDKs tell whole seconds, the rest of them cut off: of fewer than these that would be too much. */
const SHORTEST_UNSTATED_MS = 5_000

/** When calls end, in milliseconds. Who only told how it is set gives up by itself then, so the answer has to be there before. */
const endOf = ({ isStated, ms }: Patience): number => {
  if (isStated) return ms
  return ms < SHORTEST_UNSTATED_MS ? Number.POSITIVE_INFINITY : ms - Math.min(1_000, ms / 20)
}

/** `limitMs`: how long the call takes at most by itself. Fails with `ProvidersTimedOut` where the client waits no longer. */
export const withinPatience = <A, E, R>(
  order: Order<unknown>,
  limitMs: number,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GatewayError, R> => {
  const { patience, startedAtMs } = order
  // The first call's end comes before the client's, as it does for the SDKs as they are shipped: no timer for those.
  if (patience === null || (order.attempts.length === 0 && patience.ms >= limitMs)) return call
  return Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
    const leftMs = startedAtMs + endOf(patience) - nowMs
    if (leftMs >= limitMs) return call
    return Effect.timeoutOrElse(call, {
      duration: Math.max(0, leftMs),
      orElse: () => Effect.suspend(() => Effect.fail(outOfPatience(order)))
    })
  })
}

const outOfPatience = ({ attempts }: Order<unknown>): GatewayError => {
  for (const [at, attempt] of attempts.entries()) {
    if (attempt.status === "cancelled" && attempt.errorType === null)
      attempts[at] = { ...attempt, status: "timeout", errorType: IMPATIENT }
  }
  return gatewayError(new ProvidersTimedOut({ attempts }))
}
