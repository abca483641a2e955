/**
 * Rate limits as atomic operations. Requests and tokens per minute are token buckets: capacity is
 * one minute's worth, refilled continuously. Concurrent requests are leases, which expire by
 * themselves when their process dies.
 *
 * Each call checks the limits of the key and of its owner. It takes from all of them or from none.
 */
import { Context, type Effect } from "effect"
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
    /** Takes one request, `tokens` tokens and a concurrency lease. */
    readonly acquire: (request: LimitRequest) => Effect.Effect<LimitVerdict, StoreError>
    /** Takes tokens only, for a request that already holds its lease. */
    readonly take: (request: TokenRequest) => Effect.Effect<LimitVerdict, StoreError>
    /**
     * Extends leases to `leaseMs` from now. A lease that has ended in the meantime is granted
     * again.
     */
    readonly renew: (leases: ReadonlyArray<Lease>, leaseMs: number, nowMs: number) => Effect.Effect<void, StoreError>
    /**
     * Frees a lease. Idempotent. A release that failed is retried in the background until the lease
     * would have ended.
     */
    readonly release: (lease: Lease) => Effect.Effect<void, StoreError>
    /**
     * Takes `delta` more tokens, or gives them back when `delta` is negative, and returns the
     * tighter of the resulting buckets. Never refuses: a bucket may owe up to one minute's worth,
     * and never rises above full.
     */
    readonly correct: (correction: Correction) => Effect.Effect<BucketState, StoreError>
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/limits/Limits") {}
