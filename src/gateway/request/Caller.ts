/** Who sends a request: the key, and the limits that its tier has here. */
import { type KeyRecord, type RateLimits } from "../../domain/Key.ts"
import { type LimitHolder } from "../../store/limits/Limits.ts"

export interface Caller {
  readonly key: KeyRecord
  readonly limits: RateLimits
  /** Whose keys share one more set of limits; absent or null: the key belongs to nobody. */
  readonly owner?: { readonly id: string; readonly limits: RateLimits } | null
}

/** The caller as the limit store knows it. */
export const holderOf = ({ key, limits, owner }: Caller): LimitHolder => ({
  keyId: key.id,
  limits,
  owner: owner ?? null
})
