/**
 * Heartbeats of the requests that run in this process. They renew the reservations and record the
 * progress of each request, so that a crash loses at most what was produced since the last
 * heartbeat. The lease of a request that no process runs expires, and recovery settles it.
 */
import { Clock, Duration, Effect, Schedule } from "effect"
import { TransientMap } from "../../domain/runtime/TransientMap.ts"
import { Ledger, type Running } from "../../store/ledger/Ledger.ts"
import { type MeteredRequest } from "./Reservation.ts"
import { outcomeSoFar, progressOf } from "./Progress.ts"

/** The fewest heartbeats in a lease. */
const BEATS_PER_LEASE = 5
const LONGEST_BEAT_MS = 5_000
/** How many requests one statement renews. */
const BEAT_SIZE = 500

/** Runs until the scope that it is made in closes. */
export const makeHeartbeats = Effect.fnUntraced(function* (options: {
  readonly leaseMs: number
  readonly markup: number
}) {
  const ledger = yield* Ledger
  const running = new TransientMap<string, MeteredRequest>()
  const beatMs = Math.min(options.leaseMs / BEATS_PER_LEASE, LONGEST_BEAT_MS)

  const runningOf = (request: MeteredRequest, nowMs: number): Running => {
    const { plan, reservation } = request
    const soFar = reservation.isSettled ? null : outcomeSoFar(request)
    const held = { heldNano: reservation.heldNano, markup: options.markup, nowMs }
    return { generationId: plan.generationId, progress: soFar === null ? null : progressOf(plan, soFar, held) }
  }

  /** Skips requests that began after the last heartbeat: most are over before the next. */
  const beat = Effect.gen(function* () {
    const nowMs = yield* Clock.currentTimeMillis
    const alive = running.values().filter(({ plan }) => nowMs - plan.startedAtMs >= beatMs)
    for (let at = 0; at < alive.length; at += BEAT_SIZE) {
      const some = alive.slice(at, at + BEAT_SIZE).map((request) => runningOf(request, nowMs))
      yield* Effect.ignore(ledger.renew(some, options.leaseMs))
    }
  })
  yield* Effect.forkScoped(Effect.repeat(Effect.ignoreCause(beat), Schedule.spaced(Duration.millis(beatMs))))

  return {
    begin: (request: MeteredRequest): void => running.set(request.plan.generationId, request),
    end: ({ plan }: MeteredRequest): void => void running.delete(plan.generationId)
  }
})
