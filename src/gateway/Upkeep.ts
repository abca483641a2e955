/**
 * What is cleared away beside the requests: idempotency keys that have expired, and generations that are older than they shall be kept. A
 * little at a time, with a pause after each piece, so that nobody waits for it. Any number of processes may do it.
 */
import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { IdempotencyStore } from "../store/IdempotencyStore.ts"
import { Ledger } from "../store/Ledger.ts"
import { type StoreError } from "../store/StoreError.ts"

export interface UpkeepOptions {
  /** How long generations are kept; null: for ever. */
  readonly retentionDays: number | null
}

const EVERY = Duration.seconds(30)
const PAUSE = Duration.millis(100)
/** How many rows go at once. */
const PIECE = 500
const DAY_MS = 86_400_000

/** Clears piece by piece until there is no whole one left. `piece` answers how many rows went. */
const cleared = (piece: (nowMs: number) => Effect.Effect<number, StoreError>) =>
  Effect.flatMap(Clock.currentTimeMillis, piece).pipe(
    Effect.repeat({ while: (count) => count === PIECE, schedule: Schedule.spaced(PAUSE) }),
    Effect.ignore
  )

export const layer = ({ retentionDays }: UpkeepOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const replies = yield* IdempotencyStore
      const ledger = yield* Ledger
      const every = (piece: (nowMs: number) => Effect.Effect<number, StoreError>) =>
        Effect.forkScoped(Effect.repeat(cleared(piece), Schedule.spaced(EVERY)))
      yield* every((nowMs) => replies.forget(nowMs, PIECE))
      if (retentionDays !== null) yield* every((nowMs) => ledger.forget(nowMs - retentionDays * DAY_MS, PIECE))
    })
  )
