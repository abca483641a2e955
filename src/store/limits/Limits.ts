/**
 * Rate limits, as atomic primitives: requests and tokens a minute as token buckets (capacity = one minute's worth, refilled
 * continuously), and requests under way at once as leases that expire by themselves when their process dies. Each call checks
 * the key's limits and those of its owner, and takes from all or from none.
 */
import { Context, Effect, Layer } from "effect"
import { makeLimitsRedis } from "./LimitsRedis.ts"
import { LimitTable } from "./LimitTable.ts"
import {
  type BucketState,
  type Correction,
  type Lease,
  type LimitRequest,
  type LimitVerdict,
  type TokenRequest
} from "./LimitVerdict.ts"
import { type StoreError } from "../StoreError.ts"

export type { Lease, LimitHolder, LimitRequest, LimitVerdict } from "./LimitVerdict.ts"

export class Limits extends Context.Service<
  Limits,
  {
    /** Takes a request, tokens and a concurrency lease. */
    readonly acquire: (request: LimitRequest) => Effect.Effect<LimitVerdict, StoreError>
    /** Takes tokens only, for a request that has its lease. */
    readonly take: (request: TokenRequest) => Effect.Effect<LimitVerdict, StoreError>
    /** Lets leases last `leaseMs` from now. One that ended meanwhile is there again. */
    readonly renew: (leases: ReadonlyArray<Lease>, leaseMs: number, nowMs: number) => Effect.Effect<void, StoreError>
    /** Frees a lease; a second call changes nothing. One that failed goes on in the background until the lease is over. */
    readonly release: (lease: Lease) => Effect.Effect<void, StoreError>
    /**
     * Takes `delta` more tokens (or gives back, when negative), and answers the tighter bucket as it is then. Never refuses: the
     * bucket may owe up to one minute's worth, and is never above full.
     */
    readonly correct: (correction: Correction) => Effect.Effect<BucketState, StoreError>
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/limits/Limits") {
  /** Limits of this process alone, which it forgets when it ends. Never fails. */
  static readonly layerMemory = Layer.sync(Limits, () => {
    const table = new LimitTable()
    return {
      acquire: (request) => Effect.sync(() => table.acquire(request)),
      take: (request) => Effect.sync(() => table.take(request)),
      renew: (leases, leaseMs, nowMs) => Effect.sync(() => table.renew(leases, leaseMs, nowMs)),
      release: (lease) => Effect.sync(() => table.release(lease)),
      correct: (correction) => Effect.sync(() => table.correct(correction)),
      ping: Effect.void
    }
  })

  /**
   * Limits that all processes share. Redis' clock counts, not the callers': every `nowMs` is ignored, so that processes whose
   * clocks differ agree. A Redis that loses its data forgets what was taken, and starts with full buckets.
   */
  static readonly layerRedis = Layer.effect(Limits, makeLimitsRedis("server"))
}
