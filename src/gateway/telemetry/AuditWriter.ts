/**
 * Stores the events of the audit trail, each before the response to its request. While the database
 * is away a bounded number of them waits in memory; the log tells how many were lost. Of alike
 * refusals in one minute only the first have rows of their own. Events are deleted at a certain age
 * and beyond a certain number.
 */
import { Clock, Effect, Latch, Layer, Schedule } from "effect"
import { type AuditEvent } from "../../domain/Audit.ts"
import { Ids } from "../../domain/Ids.ts"
import { DAY_MS } from "../../domain/pricing/Money.ts"
import { AuditStore } from "../../store/audit/AuditStore.ts"
import { type Audited, AuditLog, makeAuditLog } from "./Audit.ts"
import { deleteOldCounts, makeRefusedCredentials } from "./RefusedCredentials.ts"
import { type Counted, RefusalSampler } from "./RefusalSampler.ts"

const AGAIN = "1 second"
const MOST_WAITING = 1_000
const MOST_STORED = 1_000_000
const DELETE_EVERY = "1 hour"
const PIECE = 500
const PAUSE = "100 millis"

export const layer = Layer.effect(
  AuditLog,
  Effect.gen(function* () {
    const store = yield* AuditStore
    const ids = yield* Ids
    const clock = yield* Clock.Clock
    const sampler = new RefusalSampler<Sampled>()
    const isNeeded = Latch.makeUnsafe()
    let waiting: ReadonlyArray<AuditEvent> = []
    let lost = 0

    const eventOf = (event: Audited, count: number): AuditEvent => ({
      ...event,
      id: ids.next("aud", event.createdAtMs),
      count
    })

    const wait = (events: ReadonlyArray<AuditEvent>): void => {
      const all = [...waiting, ...events]
      waiting = all.slice(0, MOST_WAITING)
      lost += all.length - waiting.length
      isNeeded.openUnsafe()
    }

    const write = (events: ReadonlyArray<AuditEvent>) =>
      events.length === 0 ? Effect.void : Effect.catch(store.add(events), () => Effect.sync(() => wait(events)))

    const writeWaiting = Effect.suspend(() => {
      const events = waiting
      waiting = []
      return write(events)
    })

    const sayLost = Effect.suspend(() => {
      if (lost === 0 || waiting.length > 0) return Effect.void
      const count = lost
      lost = 0
      return Effect.logError(`${count} row(s) of the audit trail were not stored; the log has their lines`)
    })

    const counted = (rows: ReadonlyArray<Counted<Sampled>>) =>
      rows.map(({ count, refused }) => eventOf(refused.event, count))

    const record = (event: Audited): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (event.outcome === "done") return write([eventOf(event, 1)])
        isNeeded.openUnsafe()
        return write(counted(sampler.add(sampledOf(event), clock.currentTimeMillisUnsafe())))
      })

    const writeSoon = Effect.gen(function* () {
      yield* isNeeded.await
      yield* Effect.sleep(AGAIN)
      wait(counted(sampler.endMinute(clock.currentTimeMillisUnsafe())))
      yield* writeWaiting
      yield* sayLost
      if (waiting.length === 0 && !sampler.hasOthers) yield* isNeeded.close
    })

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        wait(counted(sampler.end()))
        return Effect.andThen(
          writeWaiting,
          Effect.suspend(() => {
            lost += waiting.length
            waiting = []
            return sayLost
          })
        )
      })
    )
    yield* Effect.forkScoped(Effect.forever(writeSoon))
    return makeAuditLog({ record, count: yield* makeRefusedCredentials })
  })
)

/** Deletes events older than `retentionDays`. */
export const layerDeleting = ({ retentionDays }: { readonly retentionDays: number }) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const store = yield* AuditStore
      const deletePiece = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        store.deleteOld({ beforeMs: nowMs - retentionDays * DAY_MS, most: MOST_STORED, limit: PIECE })
      )
      const deleteOld = Effect.repeat(deletePiece, {
        while: (count) => count === PIECE,
        schedule: Schedule.spaced(PAUSE)
      })
      yield* deleteOldCounts
      yield* Effect.forkScoped(Effect.repeat(Effect.ignore(deleteOld), Schedule.spaced(DELETE_EVERY)))
    })
  )

interface Sampled {
  readonly event: Audited
  readonly createdAtMs: number
  readonly status: number
  readonly type: string
  readonly code: string
  readonly keyId: string | null
}

/** Refusals are alike if one actor was refused one action for one reason. */
const sampledOf = (event: Audited): Sampled => ({
  event,
  createdAtMs: event.createdAtMs,
  status: 0,
  type: event.action,
  code: typeof event.details["cause"] === "string" ? event.details["cause"] : event.outcome,
  keyId: event.actorId ?? event.address
})
