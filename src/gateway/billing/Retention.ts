/**
 * What is cleared away beside the requests: idempotency keys that have expired, generations that are older than they shall be kept, and
 * into the archive those that are only old. A little at a time, with a pause after each piece, so that nobody waits for it. Any
 * number of processes may do it.
 */
import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { DAY_MS } from "../../domain/Money.ts"
import { IdempotencyStore } from "../../store/idempotency/IdempotencyStore.ts"
import { GenerationStore } from "../../store/ledger/GenerationStore.ts"
import { type StoreError } from "../../store/StoreError.ts"

export interface RetentionOptions {
  /** After how long generations are archived; null: never. */
  readonly archiveDays: number | null
  /** How long generations are kept; null: for ever. */
  readonly retentionDays: number | null
}

const EVERY = Duration.seconds(30)
const PAUSE = Duration.millis(100)
/** How many rows go at once, and how many move: that is written twice, and the embedded database does nothing else meanwhile. */
const PIECE = 500
const MOVED_PIECE = 200

/** Clears piece by piece until there is no whole one, of `size` rows, left. `piece` answers how many rows went. */
const cleared = (piece: (nowMs: number) => Effect.Effect<number, StoreError>, size: number) =>
  Effect.flatMap(Clock.currentTimeMillis, piece).pipe(
    Effect.repeat({ while: (count) => count === size, schedule: Schedule.spaced(PAUSE) }),
    Effect.ignore
  )

export const layer = ({ archiveDays, retentionDays }: RetentionOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const replies = yield* IdempotencyStore
      const generations = yield* GenerationStore
      const every = (work: Effect.Effect<void>) => Effect.forkScoped(Effect.repeat(work, Schedule.spaced(EVERY)))
      yield* every(cleared((nowMs) => replies.forget(nowMs, PIECE), PIECE))
      const moving =
        archiveDays === null
          ? Effect.void
          : cleared((nowMs) => generations.archive(nowMs - archiveDays * DAY_MS, MOVED_PIECE), MOVED_PIECE)
      if (retentionDays === null) return archiveDays === null ? undefined : yield* every(moving)
      const dropping = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        Effect.ignore(generations.forgetArchived(nowMs - retentionDays * DAY_MS))
      )
      // One after the other, because either would be in the other's way. Also where nothing is archived any more: something may have been.
      yield* every(Effect.andThen(moving, dropping))
      yield* every(cleared((nowMs) => generations.forget(nowMs - retentionDays * DAY_MS, PIECE), PIECE))
    })
  )
