/**
 * Signs of life of the orders that this process works on: they renew the reservations, and say how far each order is, so that a crash costs no
 * more than what was produced since. An order that nobody here knows is not renewed, and recovery settles it once its lease is over.
 */
import { Clock, Duration, Effect, Schedule } from "effect"
import { Ledger, type Running } from "../../store/ledger/Ledger.ts"
import { type Outcome } from "./Outcome.ts"
import { type Order } from "../request/Order.ts"
import { progressOf } from "./Progress.ts"

/** How many signs of life a lease lasts for, at least. */
const BEATS_A_LEASE = 5
const LONGEST_BEAT_MS = 5_000
/** How many orders one statement tells of. */
const BEAT_SIZE = 500

/** In the scope that it is made in. */
export const makeHeartbeats = Effect.fnUntraced(function* (options: {
  readonly leaseMs: number
  readonly markup: number
}) {
  const ledger = yield* Ledger
  const running = new Map<string, Order>()
  const followed = new WeakMap<Order, () => Outcome | null>()
  const beatMs = Math.min(options.leaseMs / BEATS_A_LEASE, LONGEST_BEAT_MS)

  const told = (order: Order, nowMs: number): Running => {
    const { extendedNano, reservedNano, settled } = order.account
    const soFar = settled ? null : (followed.get(order)?.() ?? null)
    const held = { heldNano: reservedNano + extendedNano, markup: options.markup, nowMs }
    return { generationId: order.generationId, progress: soFar === null ? null : progressOf(order, soFar, held) }
  }

  /** Of those that began before the last one: most are over before the next. */
  const beat = Effect.gen(function* () {
    const nowMs = yield* Clock.currentTimeMillis
    const alive = [...running.values()].filter(({ startedAtMs }) => nowMs - startedAtMs >= beatMs)
    for (let at = 0; at < alive.length; at += BEAT_SIZE) {
      const some = alive.slice(at, at + BEAT_SIZE).map((order) => told(order, nowMs))
      yield* Effect.ignore(ledger.renew(some, options.leaseMs))
    }
  })
  yield* Effect.forkScoped(Effect.repeat(Effect.ignoreCause(beat), Schedule.spaced(Duration.millis(beatMs))))

  return {
    begin: (order: Order): void => void running.set(order.generationId, order),
    end: (order: Order): void => void running.delete(order.generationId),
    /** `soFar`: how the order would end now; null: nobody answers yet. */
    follow: (order: Order, soFar: () => Outcome | null): Effect.Effect<void> =>
      Effect.sync(() => void followed.set(order, soFar))
  }
})
