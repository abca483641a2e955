/**
 * Rate limits, as atomic primitives: requests and tokens a minute as token buckets (capacity = one minute's worth, refilled
 * continuously), and requests under way at once as leases that expire by themselves when their process dies. One `acquire` checks
 * all three and takes from all or from none.
 */
import { Context, type Effect } from "effect"
import { type RateLimits } from "../domain/Key.ts"
import { type StoreError } from "./StoreError.ts"

export interface LimitRequest {
  /** Whose buckets: the key's id. */
  readonly keyId: string
  /** Names the concurrency lease: the generation's id. */
  readonly leaseId: string
  readonly limits: RateLimits
  /** Tokens to take now: an estimate, corrected by `correct` once the reply is known. A request that needs more than the
   * whole bucket takes the whole bucket. */
  readonly tokens: number
  readonly nowMs: number
  /** How long the concurrency lease lives unless it is released. */
  readonly leaseMs: number
}

/** One bucket as the `x-ratelimit-*` headers show it. `resetMs`: until it is full again. */
export interface BucketState {
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

export interface LimitVerdict {
  /** `null`: granted. Else the first limit that refused. */
  readonly refusedBy: "requests" | "tokens" | "concurrency" | null
  /** Until the refusing limit would grant; 0 when granted. */
  readonly retryAfterMs: number
  readonly requests: BucketState
  readonly tokens: BucketState
}

export class Limits extends Context.Service<
  Limits,
  {
    readonly acquire: (request: LimitRequest) => Effect.Effect<LimitVerdict, StoreError>
    /** Frees the concurrency lease; a second call changes nothing. */
    readonly release: (keyId: string, leaseId: string) => Effect.Effect<void, StoreError>
    /** Takes `delta` more tokens (or gives back, when negative). Never refuses: the bucket may go below zero, never above full. */
    readonly correct: (options: {
      readonly keyId: string
      readonly limits: RateLimits
      readonly delta: number
      readonly nowMs: number
    }) => Effect.Effect<void, StoreError>
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/Limits") {}
