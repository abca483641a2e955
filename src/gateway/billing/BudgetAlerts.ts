/**
 * Says when a key has spent 80 % of its month's budget, and when that is used up: once each for a key, month and budget, however many
 * processes there are. Requests only leave a note; balances are read every few seconds, of keys that had requests. A database that
 * is away delays it.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { Events } from "../../domain/Events.ts"
import { type KeyRecord } from "../../domain/Key.ts"
import { monthOf, usdFromNano } from "../../domain/Money.ts"
import { type Balance, Ledger } from "../../store/ledger/Ledger.ts"
import { Notices } from "../../store/notices/Notices.ts"

const EVERY = "5 seconds"
/** Notices of dead letters and of budgets are kept this long. */
const KEPT_MS = 90 * 86_400_000
const FORGET_EVERY = "1 hour"

export interface BudgetAlertsShape {
  /** A request of this key was settled, or refused for want of budget. */
  readonly note: (key: KeyRecord, isRefused: boolean) => void
}

/** Without its layer nothing is noted. */
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
    const notices = yield* Notices
    const events = yield* Events
    let notes = new Map<string, Note>()

    const note = (key: KeyRecord, isRefused: boolean): void => {
      if (key.monthlyBudgetNano === null) return
      notes.set(key.id, { key, isRefused: isRefused || notes.get(key.id)?.isRefused === true })
    }

    const tell = Effect.fnUntraced(function* (noted: Note, balance: Balance, capNano: number, month: string) {
      const { key } = noted
      for (const percent of reached(balance.spentNano, capNano, noted.isRefused)) {
        if (!(yield* notices.mark({ keyId: key.id, month, percent, capNano }))) continue
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
        // Looked at again next time.
        Effect.catch(() =>
          Effect.sync(() => {
            for (const { isRefused, key } of taken.values()) note(key, isRefused)
          })
        )
      )
    })

    const forget = Effect.flatMap(Clock.currentTimeMillis, (nowMs) => notices.forget(nowMs - KEPT_MS, monthOf(nowMs)))
    yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(EVERY)))
    yield* Effect.forkScoped(
      Effect.repeat(Effect.delay(Effect.ignore(forget), FORGET_EVERY), Schedule.spaced(FORGET_EVERY))
    )
    return { note }
  })
)

/**
 * The shares that are reached. A budget is used up when all of it is spent, or when next to nothing is left and a request was refused
 * for it: answers rarely cost what is left to the last digit.
 */
const reached = (spentNano: number, capNano: number, isRefused: boolean): ReadonlyArray<80 | 100> => {
  const isNear = spentNano >= capNano * 0.8
  const isSpent = spentNano >= capNano || (isRefused && isNear)
  return [...(isNear ? [80 as const] : []), ...(isSpent ? [100 as const] : [])]
}
