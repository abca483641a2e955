/**
 * Rate limits, as atomic primitives: requests and tokens a minute as token buckets (capacity = one minute's worth, refilled
 * continuously), and requests under way at once as leases that expire by themselves when their process dies. One `acquire` checks
 * all three and takes from all or from none.
 */
import { Context, Effect, Layer } from "effect"
import { type RateLimits } from "../domain/Key.ts"
import { makeLimitsRedis } from "./LimitsRedis.ts"
import { LimitTable } from "./LimitTable.ts"
import { type LimitRequest, type LimitVerdict } from "./LimitVerdict.ts"
import { type StoreError } from "./StoreError.ts"

export type { LimitRequest, LimitVerdict } from "./LimitVerdict.ts"

export class Limits extends Context.Service<
  Limits,
  {
    readonly acquire: (request: LimitRequest) => Effect.Effect<LimitVerdict, StoreError>
    /** Frees the concurrency lease; a second call changes nothing. */
    readonly release: (keyId: string, leaseId: string) => Effect.Effect<void, StoreError>
    /**
     * Takes `delta` more tokens (or gives back, when negative). Never refuses: the bucket may go below zero, never above full.
     * Counted from what `acquire` took, which is at most the whole bucket: `used - min(estimate, tokensPerMinute)`.
     */
    readonly correct: (options: {
      readonly keyId: string
      readonly limits: RateLimits
      readonly delta: number
      readonly nowMs: number
    }) => Effect.Effect<void, StoreError>
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/Limits") {
  /** Limits of this process alone, which it forgets when it ends. Never fails. */
  static readonly layerMemory = Layer.sync(Limits, () => {
    const table = new LimitTable()
    return {
      acquire: (request) => Effect.sync(() => table.acquire(request)),
      release: (keyId, leaseId) => Effect.sync(() => table.release(keyId, leaseId)),
      correct: (options) =>
        Effect.sync(() => table.correct(options.keyId, options.limits, options.delta, options.nowMs)),
      ping: Effect.void
    }
  })

  /**
   * Limits that all processes share. Redis' clock counts, not the callers': every `nowMs` is ignored, so that processes whose
   * clocks differ agree. A Redis that loses its data forgets what was taken, and starts with full buckets.
   */
  static readonly layerRedis = Layer.effect(Limits, makeLimitsRedis("server"))
}
