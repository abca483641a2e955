/**
 * The arithmetic of rate limits, apart from where the buckets are kept. A bucket is what it has given out (`used`, of a capacity
 * `limit`), which flows back at `limit` a minute; a full bucket is `used` 0, so that an absent bucket is a full one. Pure: the
 * memory store calls these functions, and the script of the Redis store says the same in Lua, line by line.
 */
import { type RateLimits } from "../domain/Key.ts"

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

/** In which an empty bucket fills up. */
export const windowMs = 60_000
/** What a refusal by concurrency tells the client to wait: nobody knows when a running request ends. */
export const concurrencyRetryMs = 1_000
/** Of a request, token or millisecond: what sums of fractions may be off by. */
export const tolerance = 1e-6

/**
 * Milliseconds of refill since `atMs`. A moment in the future gives none: requests reach the store out of order. More than a
 * window in the future means that the clock was set back, and counts as one window, lest the bucket stay shut until then.
 */
export const elapsedSince = (atMs: number, nowMs: number): number =>
  nowMs - atMs < -windowMs ? windowMs : Math.max(0, nowMs - atMs)

/** The moment to store beside a bucket that was taken from: never backwards, except after a clock that was set back. */
export const advanced = (atMs: number, nowMs: number): number =>
  nowMs - atMs < -windowMs ? nowMs : Math.max(atMs, nowMs)

/**
 * What a bucket of `limit` has given out, `elapsedMs` after it had given out `used` of `usedLimit`. When the limit changed in
 * between, the used fraction stays: an upgrade or a downgrade, and one after the other, neither fills nor empties a bucket.
 */
export const usedAfter = (used: number, usedLimit: number, limit: number, elapsedMs: number): number =>
  Math.max(0, (usedLimit > 0 ? (used * limit) / usedLimit : used) - (elapsedMs * limit) / windowMs)

/** What a request takes of a bucket: never more than the whole of it, never less than nothing. */
export const takenFrom = (wanted: number, limit: number): number => (wanted > 0 ? Math.min(wanted, limit) : 0)

/** Milliseconds until a bucket would grant `wanted`; 0: now. A bucket of limit 0 never does, and asks for a window's patience. */
export const waitFor = (used: number, wanted: number, limit: number): number => {
  if (limit <= 0) return wanted > 0 ? windowMs : 0
  const over = used + takenFrom(wanted, limit) - limit
  return over <= tolerance ? 0 : Math.ceil((over * windowMs) / limit - tolerance)
}

export const bucketState = (used: number, limit: number): BucketState => ({
  limit,
  remaining: Math.max(0, Math.floor(limit - used + tolerance)),
  resetMs: limit > 0 ? Math.max(0, Math.ceil((used * windowMs) / limit - tolerance)) : 0
})

/**
 * The verdict on a request, given what both buckets have given out by now and whether a lease can be had. Checked in the order
 * requests, tokens, concurrency. The states are those after a grant took its share, or untouched after a refusal.
 */
export const verdictOn = (
  limits: RateLimits,
  tokens: number,
  requestsUsed: number,
  tokensUsed: number,
  leaseFree: boolean
): LimitVerdict => {
  const requestsWait = waitFor(requestsUsed, 1, limits.requestsPerMinute)
  if (requestsWait > 0) return verdict("requests", requestsWait, limits, requestsUsed, tokensUsed)
  const tokensWait = waitFor(tokensUsed, tokens, limits.tokensPerMinute)
  if (tokensWait > 0) return verdict("tokens", tokensWait, limits, requestsUsed, tokensUsed)
  if (!leaseFree) return verdict("concurrency", concurrencyRetryMs, limits, requestsUsed, tokensUsed)
  const taken = takenFrom(tokens, limits.tokensPerMinute)
  return verdict(null, 0, limits, requestsUsed + 1, tokensUsed + taken)
}

const verdict = (
  refusedBy: LimitVerdict["refusedBy"],
  retryAfterMs: number,
  limits: RateLimits,
  requestsUsed: number,
  tokensUsed: number
): LimitVerdict => ({
  refusedBy,
  retryAfterMs,
  requests: bucketState(requestsUsed, limits.requestsPerMinute),
  tokens: bucketState(tokensUsed, limits.tokensPerMinute)
})
