/** A key as its readers see it, and pages of keys. */
import { type KeyRecord, type RateLimits } from "../../domain/Key.ts"
import { type KeyQuery, type KeyStatusFilter } from "../../store/keys/KeyRepo.ts"
import { type Balance } from "../../store/ledger/Ledger.ts"

/** A key, the rate limits of its tier, and its balance this month. */
export interface KeyView {
  readonly key: KeyRecord
  readonly limits: RateLimits
  readonly balance: Balance
  readonly nowMs: number
}

/** `total`: the number of keys on all pages. */
export interface KeyViewPage {
  readonly keys: ReadonlyArray<KeyView>
  readonly nextCursor: string | null
  readonly total: number
}

/** A page of keys. The month of the order by spending is the current one. */
export type KeyListQuery = Omit<KeyQuery, "month" | "status"> & { readonly status?: KeyStatusFilter["is"] }
