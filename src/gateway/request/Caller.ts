/** The sender of a request: the key, and the limits of its tier. */
import { type KeyRecord, type RateLimits } from "../../domain/Key.ts"
import { type LimitHolder } from "../../store/limits/Limits.ts"

export interface Caller {
  readonly key: KeyRecord
  readonly limits: RateLimits
  /** The owner, whose keys share another set of limits. Absent or null: the key has no owner. */
  readonly owner?: { readonly id: string; readonly limits: RateLimits } | null
}

/** The caller as the limit store knows it. */
export const holderOf = ({ key, limits, owner }: Caller): LimitHolder => ({
  keyId: key.id,
  limits,
  owner: owner ?? null
})
