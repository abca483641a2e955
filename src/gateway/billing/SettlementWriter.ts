/**
 * Writes the settlement of a request: at once if the database takes it, otherwise with retries for
 * as long as the process lives. A reply waits for it for a while, and shows only amounts that are
 * written.
 */
import { Cause, Effect, Schedule } from "effect"
import { type StoreError } from "../../store/StoreError.ts"
import { type PendingSettlementsShape } from "./PendingSettlements.ts"
import { type MeteredRequest } from "./Reservation.ts"

const TRY_AGAIN = Schedule.spaced("1 second")

export interface SettlementWriter {
  /**
   * Writes a settlement, with retries. If the ledger rejects it as a defect, `bare` is written
   * instead. In any case the request then counts as ended, and `onEnd` is called.
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
  onEnd: (request: MeteredRequest) => void
): SettlementWriter => {
  const ended = (request: MeteredRequest, isWritten: boolean): Effect.Effect<void> => {
    onEnd(request)
    request.reservation.finish(isWritten)
    return Effect.void
  }

  /** Writes what can be written after a defect. */
  const afterDefect = (
    request: MeteredRequest,
    cause: Cause.Cause<StoreError>,
    bare: Effect.Effect<void, StoreError>
  ): Effect.Effect<void, StoreError> =>
    Effect.andThen(
      Effect.logError("the ledger refused a settlement; it is written without its receipt", Cause.squash(cause)),
      bare
    ).pipe(
      Effect.as(true),
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError("a settlement cannot be written; recovery settles the request after its lease", defect),
          false
        )
      ),
      Effect.flatMap((isWritten) => ended(request, isWritten))
    )

  const tryToFinish: SettlementWriter["tryToFinish"] = (request, ending, bare = Effect.void) =>
    Effect.matchCauseEffect(ending, {
      onSuccess: () => ended(request, true),
      onFailure: (cause) => (Cause.hasDies(cause) ? afterDefect(request, cause, bare) : Effect.failCause(cause))
    })

  return {
    tryToFinish,
    finish: (request, ending, bare) => {
      const write = tryToFinish(request, ending, bare)
      return Effect.catch(write, () => {
        request.reservation.delay()
        return late.fork(Effect.orDie(Effect.retry(write, TRY_AGAIN)))
      })
    }
  }
}
