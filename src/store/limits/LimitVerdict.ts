/**
 * The arithmetic of rate limits, apart from where the buckets are kept. A bucket is what it has given out (`used`, of a capacity
 * `limit`), which flows back at `limit` a minute; a full bucket is `used` 0, so that an absent bucket is a full one. Pure: the
 * memory store calls these functions, and the script of the Redis store says the same in Lua, line by line.
 */
import { type RateLimits } from "../../domain/Key.ts"

/** Whose limits count: those of a key, and those that all keys of its owner share. */
export interface LimitHolder {
  readonly keyId: string
  readonly limits: RateLimits
  /** Absent or null: the key belongs to nobody. */
  readonly owner?: { readonly id: string; readonly limits: RateLimits } | null
}

/** Tokens to take now. A holder whose bucket is smaller gives its whole bucket. */
export interface TokenRequest extends LimitHolder {
  readonly tokens: number
  readonly nowMs: number
}

export interface LimitRequest extends TokenRequest {
  /** Names the concurrency lease: the generation's id. */
  readonly leaseId: string
  /** How long the concurrency lease lives unless it is renewed or released. */
  readonly leaseMs: number
}

/** A concurrency slot that was granted: at the key, and at its owner if it has one. */
export interface Lease {
  readonly keyId: string
  readonly ownerId: string | null
  readonly leaseId: string
}

/** Tokens to take without asking, or to give back when negative. */
export interface Correction extends LimitHolder {
  readonly delta: number
  readonly nowMs: number
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
  /** Whose limit refused; null: granted. */
  readonly holder: "key" | "owner" | null
  /** Until the refusing limit would grant; 0 when granted. */
  readonly retryAfterMs: number
  /** Each the tighter one of key and owner. */
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

/**
 * What a token bucket has given out after a correction. Output is counted when it is there, so it may be more than the bucket
 * holds. The debt ends at one minute's worth: a key that used five minutes' worth at once waits one minute, not five.
 */
export const correctedBy = (used: number, delta: number, limit: number): number =>
  Math.max(0, Math.min(used + delta, 2 * limit))

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

/** What one holder has given out by now. */
export interface Use {
  readonly limits: RateLimits
  readonly requestsUsed: number
  readonly tokensUsed: number
  /** Whether a concurrency lease can be had, or none is wanted. */
  readonly leaseFree: boolean
}

/**
 * The verdict on a request, given the use of its key and of the key's owner, if any. Checked in the order requests, tokens,
 * concurrency, and each limit at both holders. The states are those after a grant took its share, or untouched after a refusal.
 */
export const verdictOn = (requests: 0 | 1, tokens: number, key: Use, owner: Use | null): LimitVerdict => {
  const requestsWait = (use: Use) =>
    requests === 0 ? 0 : waitFor(use.requestsUsed, requests, use.limits.requestsPerMinute)
  const tokensWait = (use: Use) => waitFor(use.tokensUsed, tokens, use.limits.tokensPerMinute)
  const leaseWait = (use: Use) => (use.leaseFree ? 0 : concurrencyRetryMs)
  const refused =
    refusal("requests", requestsWait, key, owner) ??
    refusal("tokens", tokensWait, key, owner) ??
    refusal("concurrency", leaseWait, key, owner)
  const taken = refused === null
  const requestsOf = (use: Use) => bucketState(use.requestsUsed + (taken ? requests : 0), use.limits.requestsPerMinute)
  const tokensOf = (use: Use) =>
    bucketState(
      use.tokensUsed + (taken ? takenFrom(tokens, use.limits.tokensPerMinute) : 0),
      use.limits.tokensPerMinute
    )
  return {
    ...(refused ?? { refusedBy: null, holder: null, retryAfterMs: 0 }),
    requests: owner === null ? requestsOf(key) : tighter(requestsOf(key), requestsOf(owner)),
    tokens: owner === null ? tokensOf(key) : tighter(tokensOf(key), tokensOf(owner))
  }
}

const refusal = (
  refusedBy: NonNullable<LimitVerdict["refusedBy"]>,
  waitAt: (use: Use) => number,
  key: Use,
  owner: Use | null
): Pick<LimitVerdict, "refusedBy" | "holder" | "retryAfterMs"> | null => {
  const keyWait = waitAt(key)
  const ownerWait = owner === null ? 0 : waitAt(owner)
  if (keyWait === 0 && ownerWait === 0) return null
  return keyWait >= ownerWait
    ? { refusedBy, holder: "key", retryAfterMs: keyWait }
    : { refusedBy, holder: "owner", retryAfterMs: ownerWait }
}

/** The bucket that has less left. */
export const tighter = (key: BucketState, owner: BucketState): BucketState =>
  owner.remaining < key.remaining ? owner : key
