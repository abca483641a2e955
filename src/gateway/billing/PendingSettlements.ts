/**
 * Endings that the ledger could not take at once, because the database was away: they are tried again beside everything else, whatever
 * becomes of the request and of the settings that it was served with. A process that is told to end waits for them, for as long as
 * its drain may take; what is left then is settled by recovery, as estimated.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Lifecycle } from "../process/Lifecycle.ts"

export interface PendingSettlementsShape {
  /** Runs what writes an ending, in the background. */
  readonly fork: (writing: Effect.Effect<void>) => Effect.Effect<void>
  /** How many are being tried again now. */
  readonly waiting: () => number
}

/** Without its layer nobody waits for them. */
export const PendingSettlements = Context.Reference<PendingSettlementsShape>(
  "tollgate/gateway/billing/PendingSettlements",
  {
    defaultValue: () => ({ fork: (writing) => Effect.asVoid(Effect.forkDetach(writing)), waiting: () => 0 })
  }
)

/** `drainTimeoutMs`: how long a drain may take, from its beginning. */
export const layer = ({ drainTimeoutMs }: { readonly drainTimeoutMs: number }) =>
  Layer.effect(
    PendingSettlements,
    Effect.gen(function* () {
      const { drainingSinceMs } = yield* Lifecycle
      let waiting = 0
      let onNone: (() => void) | null = null

      const noneLeft = Effect.callback<void>((resume) => {
        onNone = () => resume(Effect.void)
        if (waiting === 0) onNone()
      })
      yield* Effect.addFinalizer(() =>
        Effect.gen(function* () {
          if (waiting === 0) return
          yield* Effect.logWarning(`waiting for the database to take ${waiting} ending(s)`)
          const nowMs = yield* Clock.currentTimeMillis
          const untilMs = ((yield* drainingSinceMs) ?? nowMs) + drainTimeoutMs
          yield* Effect.timeoutOption(noneLeft, Duration.millis(Math.max(0, untilMs - nowMs)))
          if (waiting > 0) yield* Effect.logError(`${waiting} ending(s) are left to recovery, as estimated`)
        })
      )

      return {
        waiting: () => waiting,
        fork: (writing) =>
          Effect.suspend(() => {
            const isFirst = waiting++ === 0
            const ended = Effect.sync(() => {
              if (--waiting === 0) onNone?.()
            })
            const forked = Effect.asVoid(Effect.forkDetach(Effect.ensuring(writing, ended)))
            return isFirst ? Effect.andThen(Effect.logWarning("endings wait for the database"), forked) : forked
          })
      }
    })
  )
