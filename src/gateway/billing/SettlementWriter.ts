/**
 * Writes the settlement of a request: at once if the database takes it, otherwise with retries for
 * as long as the process lives. A reply waits for it for a while, and shows only amounts that are
 * written.
 */
import { Effect, Schedule } from "effect"
import { type StoreError } from "../../store/StoreError.ts"
import { type PendingSettlementsShape } from "./PendingSettlements.ts"
import { type MeteredRequest } from "./Reservation.ts"

const TRY_AGAIN = Schedule.spaced("1 second")

export interface SettlementWriter {
  /**
   * Writes a settlement, with retries. If the ledger rejects it as a defect, `bare` is written
   * instead. In any case the request then counts as ended, and `ended` is called.
   */
  readonly finish: (
    request: MeteredRequest,
    ending: Effect.Effect<void, StoreError>,
    bare?: Effect.Effect<void, StoreError>
  ) => Effect.Effect<void>
  /** The same without retries: the request has not ended if it fails. */
  readonly tryToFinish: (
    request: MeteredRequest,
    ending: Effect.Effect<void, StoreError>,
    bare?: Effect.Effect<void, StoreError>
  ) => Effect.Effect<void, StoreError>
}

export const makeSettlementWriter = (
  late: PendingSettlementsShape,
  ended: (request: MeteredRequest) => void
): SettlementWriter => {
  const partsOf = (
    request: MeteredRequest,
    ending: Effect.Effect<void, StoreError>,
    bare: Effect.Effect<void, StoreError>
  ) => {
    const done = (isWritten: boolean) =>
      Effect.sync(() => {
        ended(request)
        request.reservation.finish(isWritten)
      })
    const write = Effect.catchDefect(ending, (defect) =>
      Effect.andThen(
        Effect.logError("the ledger refused a settlement; it is written without its receipt", defect),
        bare
      )
    ).pipe(
      Effect.as(true),
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError("a settlement cannot be written; recovery settles the request after its lease", defect),
          false
        )
      )
    )
    return { write, done }
  }
  return {
    finish: (request, ending, bare = Effect.void) => {
      const { done, write } = partsOf(request, ending, bare)
      return Effect.catch(Effect.flatMap(write, done), () => {
        request.reservation.delay()
        return late.fork(Effect.flatMap(Effect.orDie(Effect.retry(write, TRY_AGAIN)), done))
      })
    },
    tryToFinish: (request, ending, bare = Effect.void) => {
      const { done, write } = partsOf(request, ending, bare)
      return Effect.flatMap(write, done)
    }
  }
}
