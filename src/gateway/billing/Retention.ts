/**
 * Deletes expired idempotency keys and responses, and generations and refusals older than the
 * retention time, and moves old generations to the archive. It works in small batches with a pause
 * after each, so that requests do not wait for it. Any number of processes may run it.
 */
import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { DAY_MS } from "../../domain/pricing/Money.ts"
import { IdempotencyStore } from "../../store/idempotency/IdempotencyStore.ts"
import { GenerationStore } from "../../store/ledger/GenerationStore.ts"
import { RefusalStore } from "../../store/refusals/RefusalStore.ts"
import { ResponseStore } from "../../store/responses/ResponseStore.ts"
import { type StoreError } from "../../store/StoreError.ts"

export interface RetentionOptions {
  /** The age at which generations are archived; null: never. */
  readonly archiveDays: number | null
  /** How long generations are kept; null: for ever. */
  readonly retentionDays: number | null
}

const EVERY = Duration.seconds(30)
const PAUSE = Duration.millis(100)
/**
 * Rows in a batch of deletions and of moves. A move writes each row twice, and the embedded
 * database does nothing else meanwhile.
 */
const PIECE = 500
const MOVED_PIECE = 200

/** Repeats `piece` until it returns fewer than `size` rows. */
const cleared = (piece: (nowMs: number) => Effect.Effect<number, StoreError>, size: number) =>
  Effect.flatMap(Clock.currentTimeMillis, piece).pipe(
    Effect.repeat({ while: (count) => count === size, schedule: Schedule.spaced(PAUSE) }),
    Effect.ignore
  )

export const layer = ({ archiveDays, retentionDays }: RetentionOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const replies = yield* IdempotencyStore
      const responses = yield* ResponseStore
      const generations = yield* GenerationStore
      const refusals = yield* RefusalStore
      const every = (work: Effect.Effect<void>) => Effect.forkScoped(Effect.repeat(work, Schedule.spaced(EVERY)))
      yield* every(cleared((nowMs) => replies.deleteExpired(nowMs, PIECE), PIECE))
      yield* every(cleared((nowMs) => responses.deleteExpired(nowMs, PIECE), PIECE))
      const moving =
        archiveDays === null
          ? Effect.void
          : cleared((nowMs) => generations.archive(nowMs - archiveDays * DAY_MS, MOVED_PIECE), MOVED_PIECE)
      if (retentionDays === null) return archiveDays === null ? undefined : yield* every(moving)
      const dropping = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        Effect.ignore(generations.deleteArchivedBefore(nowMs - retentionDays * DAY_MS))
      )
      // The two run one after the other, because each would block the other. Dropping also runs
      // where archiving is switched off: the archive may hold older months.
      yield* every(Effect.andThen(moving, dropping))
      yield* every(cleared((nowMs) => generations.deleteBefore(nowMs - retentionDays * DAY_MS, PIECE), PIECE))
      yield* every(cleared((nowMs) => refusals.deleteBefore(nowMs - retentionDays * DAY_MS, PIECE), PIECE))
    })
  )
