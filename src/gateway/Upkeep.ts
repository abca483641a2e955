/**
 * What is cleared away beside the requests: idempotency keys that have expired. A little at a time, with a pause after each piece, so that
 * nobody waits for it. Any number of processes may do it.
 */
import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { IdempotencyStore } from "../store/IdempotencyStore.ts"
import { type StoreError } from "../store/StoreError.ts"

const EVERY = Duration.seconds(30)
const PAUSE = Duration.millis(100)
/** How many rows go at once. */
const PIECE = 500

/** Clears piece by piece until there is no whole one left. `piece` answers how many rows went. */
const cleared = (piece: (nowMs: number, limit: number) => Effect.Effect<number, StoreError>) =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) => piece(nowMs, PIECE)).pipe(
    Effect.repeat({ while: (count) => count === PIECE, schedule: Schedule.spaced(PAUSE) }),
    Effect.ignore
  )

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const replies = yield* IdempotencyStore
    yield* Effect.forkScoped(Effect.repeat(cleared(replies.forget), Schedule.spaced(EVERY)))
  })
)
