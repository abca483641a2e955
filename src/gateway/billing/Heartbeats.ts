/**
 * Heartbeats of the requests that this process works on. They renew the reservations and say how far each request is, so that a crash
 * costs no more than what was produced since. A request that no process works on is not renewed, and recovery settles it once its
 * lease is over.
 */
import { Clock, Duration, Effect, Schedule } from "effect"
import { Ledger, type Running } from "../../store/ledger/Ledger.ts"
import { type Outcome } from "./Outcome.ts"
import { type MeteredRequest, type Reservation } from "./Reservation.ts"
import { progressOf } from "./Progress.ts"

/** How many heartbeats a lease lasts for, at least. */
const BEATS_A_LEASE = 5
const LONGEST_BEAT_MS = 5_000
/** How many requests one statement renews. */
const BEAT_SIZE = 500

/** In the scope that it is made in. */
export const makeHeartbeats = Effect.fnUntraced(function* (options: {
  readonly leaseMs: number
  readonly markup: number
}) {
  const ledger = yield* Ledger
  const running = new Map<string, MeteredRequest>()
  const followed = new WeakMap<Reservation, () => Outcome | null>()
  const beatMs = Math.min(options.leaseMs / BEATS_A_LEASE, LONGEST_BEAT_MS)

  const told = ({ plan, reservation }: MeteredRequest, nowMs: number): Running => {
    const soFar = reservation.isSettled ? null : (followed.get(reservation)?.() ?? null)
    const held = { heldNano: reservation.heldNano, markup: options.markup, nowMs }
    return { generationId: plan.generationId, progress: soFar === null ? null : progressOf(plan, soFar, held) }
  }

  /** Of those that began before the last one: most are over before the next. */
  const beat = Effect.gen(function* () {
    const nowMs = yield* Clock.currentTimeMillis
    const alive = [...running.values()].filter(({ plan }) => nowMs - plan.startedAtMs >= beatMs)
    for (let at = 0; at < alive.length; at += BEAT_SIZE) {
      const some = alive.slice(at, at + BEAT_SIZE).map((request) => told(request, nowMs))
      yield* Effect.ignore(ledger.renew(some, options.leaseMs))
    }
  })
  yield* Effect.forkScoped(Effect.repeat(Effect.ignoreCause(beat), Schedule.spaced(Duration.millis(beatMs))))

  return {
    begin: (request: MeteredRequest): void => void running.set(request.plan.generationId, request),
    end: ({ plan }: MeteredRequest): void => void running.delete(plan.generationId),
    /** `soFar`: how the request would end now; null: nobody answers yet. */
    follow: ({ reservation }: MeteredRequest, soFar: () => Outcome | null): void =>
      void followed.set(reservation, soFar)
  }
})
