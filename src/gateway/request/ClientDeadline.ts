/**
 * Gives a call up once the client's patience for an answer to begin is over. It ends from outside the attempt, because a client that
 * waits for a moment only says nothing about the provider: neither its circuit nor its figures hear of it, the receipt does.
 */
import { Clock, Effect } from "effect"
import { gatewayError, type GatewayError, ProvidersTimedOut } from "../../domain/Errors.ts"
import { type Order, type ClientDeadline } from "./Order.ts"

/** How the receipt names a call that the client's patience ended. */
const IMPATIENT = "client_timeout"

/** The SDKs tell whole seconds, the rest of them cut off: of fewer than these that would be too much. */
const SHORTEST_UNSTATED_MS = 5_000

/** When calls end, in milliseconds. Who only told how it is set gives up by itself then, so the answer has to be there before. */
const endOf = ({ explicit, ms }: ClientDeadline): number => {
  if (explicit) return ms
  return ms < SHORTEST_UNSTATED_MS ? Number.POSITIVE_INFINITY : ms - Math.min(1_000, ms / 20)
}

/** How much longer the client waits, in milliseconds; infinity: as long as it takes. */
export const deadlineLeftMs = ({ patience, startedAtMs }: Order<unknown>, nowMs: number): number =>
  patience === null ? Number.POSITIVE_INFINITY : startedAtMs + endOf(patience) - nowMs

/** An SDK that gives up this little before the first call's own limit needs no second timer, in milliseconds. */
const SAME_MOMENT_MS = 2_000

/** `limitMs`: how long the call takes at most by itself. Fails with `ProvidersTimedOut` where the client waits no longer. */
export const withinDeadline = <A, E, R>(
  order: Order<unknown>,
  limitMs: number,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GatewayError, R> => {
  const { patience } = order
  if (patience === null) return call
  return Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
    const leftMs = deadlineLeftMs(order, nowMs)
    const marginMs = patience.explicit || order.log.record.attempts.length > 0 ? 0 : SAME_MOMENT_MS
    return leftMs + marginMs >= limitMs ? call : timed(order, leftMs, call)
  })
}

/** A wait before any provider is called, such as for budget or for another request's answer. Fails as `withinPatience` does. */
export const waitWithinDeadline = <A, E, R>(
  order: Order<unknown>,
  wait: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GatewayError, R> =>
  order.patience === null
    ? wait
    : Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
        const leftMs = deadlineLeftMs(order, nowMs)
        return Number.isFinite(leftMs) ? timed(order, leftMs, wait) : wait
      })

const timed = <A, E, R>(order: Order<unknown>, leftMs: number, effect: Effect.Effect<A, E, R>) =>
  Effect.timeoutOrElse(effect, {
    duration: Math.max(0, leftMs),
    orElse: () => Effect.suspend(() => Effect.fail(outOfPatience(order)))
  })

const outOfPatience = ({ log }: Order<unknown>): GatewayError => {
  for (const [at, { errorType, status }] of log.record.attempts.entries()) {
    if (status === "cancelled" && errorType === null) log.change(at, { status: "timeout", errorType: IMPATIENT })
  }
  return gatewayError(new ProvidersTimedOut({ attempts: log.record.attempts }))
}
