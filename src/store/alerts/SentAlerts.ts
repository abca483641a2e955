/** The budget alerts that were sent, so that several processes send each of them once. */
import { Context, type Effect } from "effect"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { type StoreError } from "../StoreError.ts"

/** A key has spent a percentage of one month's budget. A changed budget gets alerts of its own. */
export interface BudgetAlert {
  readonly keyId: string
  readonly month: string
  readonly percent: number
  readonly capNano: NanoUsd
}

export class SentAlerts extends Context.Service<
  SentAlerts,
  {
    /** Records an alert. True for the first call with it in all processes, false afterwards. */
    readonly add: (alert: BudgetAlert) => Effect.Effect<boolean, StoreError>
    /** Deletes the alerts of months before `month`. */
    readonly deleteBefore: (month: string) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/alerts/SentAlerts") {}
