/**
 * Settlements that the ledger could not take at once because the database was away. They are
 * retried in the background, independent of the request and of its settings. A process that shuts
 * down waits for them until its drain timeout. Recovery settles the rest at the estimated cost.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Lifecycle } from "../process/Lifecycle.ts"

export interface PendingSettlementsShape {
  /** Retries the write of a settlement in the background. */
  readonly fork: (writing: Effect.Effect<void>) => Effect.Effect<void>
  /** How many settlements are being retried. */
  readonly waiting: () => number
}

/** Without the layer, a shutdown does not wait for them. */
export const PendingSettlements = Context.Reference<PendingSettlementsShape>(
  "tollgate/gateway/billing/PendingSettlements",
  {
    defaultValue: () => ({ fork: (writing) => Effect.asVoid(Effect.forkDetach(writing)), waiting: () => 0 })
  }
)

/** `drainTimeoutMs`: the longest drain, from its beginning. */
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
          yield* Effect.logWarning(`waiting for the database to take ${waiting} settlement(s)`)
          const nowMs = yield* Clock.currentTimeMillis
          const untilMs = ((yield* drainingSinceMs) ?? nowMs) + drainTimeoutMs
          yield* Effect.timeoutOption(noneLeft, Duration.millis(Math.max(0, untilMs - nowMs)))
          if (waiting > 0)
            yield* Effect.logError(`${waiting} settlement(s) are left to recovery, at the estimated cost`)
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
            return isFirst ? Effect.andThen(Effect.logWarning("settlements wait for the database"), forked) : forked
          })
      }
    })
  )
