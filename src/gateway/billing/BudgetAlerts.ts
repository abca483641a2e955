/**
 * Publishes an event when a key has spent 80 % of its monthly budget, and another when the budget
 * is used up. Each is published once for a key, month and budget, in however many processes.
 * Requests only add a note. Every few seconds the balances of the noted keys are read. While the
 * database is away, the events are delayed.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { Events } from "../../domain/Events.ts"
import { type KeyRecord } from "../../domain/Key.ts"
import { monthOf, usdFromNano } from "../../domain/pricing/Money.ts"
import { SentAlerts } from "../../store/alerts/SentAlerts.ts"
import { type Balance, Ledger } from "../../store/ledger/Ledger.ts"

const EVERY = "5 seconds"
const DELETE_EVERY = "1 hour"

export interface BudgetAlertsShape {
  /**
   * Records that a request of this key was settled, or was refused because the budget has no room.
   */
  readonly note: (key: KeyRecord, isRefused: boolean) => void
}

/** Without the layer, notes are ignored. */
export const BudgetAlerts = Context.Reference<BudgetAlertsShape>("tollgate/gateway/billing/BudgetAlerts", {
  defaultValue: () => ({ note: () => undefined })
})

interface Note {
  readonly key: KeyRecord
  readonly isRefused: boolean
}

export const layer = Layer.effect(
  BudgetAlerts,
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const sent = yield* SentAlerts
    const events = yield* Events
    let notes = new Map<string, Note>()

    const note = (key: KeyRecord, isRefused: boolean): void => {
      if (key.monthlyBudgetNano === null) return
      notes.set(key.id, { key, isRefused: isRefused || notes.get(key.id)?.isRefused === true })
    }

    const tell = Effect.fnUntraced(function* (noted: Note, balance: Balance, capNano: number, month: string) {
      const { key } = noted
      for (const percent of reached(balance.spentNano, capNano, noted.isRefused)) {
        if (!(yield* sent.add({ keyId: key.id, month, percent, capNano }))) continue
        yield* events.publish(percent === 100 ? "budget.exhausted" : "budget.threshold", {
          key_id: key.id,
          key_name: key.name,
          owner: key.ownerId,
          month,
          percent,
          budget_usd: usdFromNano(capNano),
          spent_usd: usdFromNano(balance.spentNano)
        })
      }
    })

    const look = Effect.suspend(() => {
      if (notes.size === 0) return Effect.void
      const taken = notes
      notes = new Map()
      return Effect.gen(function* () {
        const month = monthOf(yield* Clock.currentTimeMillis)
        const balances = yield* ledger.balances([...taken.keys()], month)
        for (const noted of taken.values()) {
          const balance = balances.get(noted.key.id) ?? { spentNano: 0, reservedNano: 0 }
          const { monthlyBudgetNano } = noted.key
          if (monthlyBudgetNano !== null) yield* tell(noted, balance, monthlyBudgetNano, month)
        }
      }).pipe(
        // The notes are put back for the next round.
        Effect.catch(() =>
          Effect.sync(() => {
            for (const { isRefused, key } of taken.values()) note(key, isRefused)
          })
        )
      )
    })

    const deleteOld = Effect.flatMap(Clock.currentTimeMillis, (nowMs) => sent.deleteBefore(monthOf(nowMs)))
    yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(EVERY)))
    yield* Effect.forkScoped(
      Effect.repeat(Effect.delay(Effect.ignore(deleteOld), DELETE_EVERY), Schedule.spaced(DELETE_EVERY))
    )
    return { note }
  })
)

/**
 * The thresholds that are reached, in percent. A budget counts as used up when all of it is spent.
 * It also does when at least 80 % is spent and a request was refused: the rest is too small for
 * most requests.
 */
const reached = (spentNano: number, capNano: number, isRefused: boolean): ReadonlyArray<80 | 100> => {
  const isNear = spentNano >= capNano * 0.8
  const isSpent = spentNano >= capNano || (isRefused && isNear)
  return [...(isNear ? [80 as const] : []), ...(isSpent ? [100 as const] : [])]
}
