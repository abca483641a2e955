/**
 * Writes the ending of a request, whatever it is: at once if the database takes it, else again and again for as long as the process
 * lives. A reply waits for it for a while, and shows no amount that is not written.
 */
import { Effect, Schedule } from "effect"
import { type StoreError } from "../../store/StoreError.ts"
import { type PendingSettlementsShape } from "./PendingSettlements.ts"
import { type MeteredRequest } from "./Reservation.ts"

const TRY_AGAIN = Schedule.spaced("1 second")

/**
 * Writes an ending. One that the ledger refuses is a defect and is written as `bare` instead. Whatever happens, the request is no
 * longer under way afterwards, and `ended` is told.
 */
export const makeSettlementWriter =
  (late: PendingSettlementsShape, ended: (request: MeteredRequest) => void) =>
  (
    request: MeteredRequest,
    ending: Effect.Effect<void, StoreError>,
    bare: Effect.Effect<void, StoreError> = Effect.void
  ): Effect.Effect<void> => {
    const done = (isWritten: boolean) =>
      Effect.sync(() => {
        ended(request)
        request.reservation.finish(isWritten)
      })
    const write = Effect.catchDefect(ending, (defect) =>
      Effect.andThen(Effect.logError("the ledger refused an ending; it is written without its receipt", defect), bare)
    ).pipe(
      Effect.as(true),
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("an ending cannot be written; its lease will end it", defect), false)
      )
    )
    return Effect.catch(Effect.flatMap(write, done), () => {
      request.reservation.delay()
      return late.fork(Effect.flatMap(Effect.orDie(Effect.retry(write, TRY_AGAIN)), done))
    })
  }
