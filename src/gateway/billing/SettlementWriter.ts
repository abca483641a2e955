/**
 * The writing of an order's ending, whatever it is: at once if the database takes it, else again and again for as long as the process lives.
 * A reply waits for it for a while, and tells no amount that is not written.
 */
import { Deferred, Duration, Effect, Option, Schedule } from "effect"
import { type StoreError } from "../../store/StoreError.ts"
import { type PendingSettlementsShape } from "./PendingSettlements.ts"
import { type Order } from "../request/Order.ts"

const TRY_AGAIN = Schedule.spaced("1 second")
/** How long a reply waits for an ending that the database did not take at once. */
const WRITTEN_WITHIN = Duration.seconds(5)

/**
 * Writes an ending. One that the ledger refuses is a defect and is written as `bare` instead. Whatever happens, the order is no longer under
 * way afterwards, which `ended` is told.
 */
export const makeSettlementWriter =
  (late: PendingSettlementsShape, ended: (order: Order) => void) =>
  (
    order: Order,
    ending: Effect.Effect<void, StoreError>,
    bare: Effect.Effect<void, StoreError> = Effect.void
  ): Effect.Effect<void> => {
    const { account } = order
    const done = (isWritten: boolean) =>
      Effect.sync(() => {
        ended(order)
        if (!isWritten) account.late ??= Deferred.makeUnsafe()
        if (account.late !== null) Deferred.doneUnsafe(account.late, Effect.succeed(isWritten))
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
      account.late = Deferred.makeUnsafe()
      return late.fork(Effect.flatMap(Effect.orDie(Effect.retry(write, TRY_AGAIN)), done))
    })
  }

/** Waits a while until an order's ending is written. False: it is not yet. */
export const written = ({ account }: Order): Effect.Effect<boolean> =>
  Effect.suspend(() =>
    account.late === null
      ? Effect.succeed(true)
      : Effect.map(
          Effect.timeoutOption(Deferred.await(account.late), WRITTEN_WITHIN),
          Option.getOrElse(() => false)
        )
  )
