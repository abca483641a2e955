/**
 * The arithmetic of rate limits, independent of where buckets are stored. All functions are pure.
 *
 * A bucket stores how much it has given out: `used`, of a capacity `limit`. It refills at `limit`
 * per minute. A full bucket has `used` 0, so an absent bucket equals a full one. The memory store
 * calls these functions. The Redis script repeats them in Lua, line by line.
 */
import { type RateLimits } from "../../domain/Key.ts"

/**
 * The limits that apply to a request: those of its key, and those that all keys of the owner share.
 */
export interface LimitHolder {
  readonly keyId: string
  readonly limits: RateLimits
  /** Absent or null: the key has no owner. */
  readonly owner?: { readonly id: string; readonly limits: RateLimits } | null
}

/** Tokens to take now. A bucket with a capacity below `tokens` gives its whole capacity. */
export interface TokenRequest extends LimitHolder {
  readonly tokens: number
  readonly nowMs: number
}

export interface LimitRequest extends TokenRequest {
  /** Identifies the concurrency lease: the id of the generation. */
  readonly leaseId: string
  /** The lease ends after this time unless it is renewed or released. */
  readonly leaseMs: number
}

/** A concurrency slot that was granted, on the key and on its owner if there is one. */
export interface Lease {
  readonly keyId: string
  readonly ownerId: string | null
  readonly leaseId: string
}

/** Tokens to take unconditionally, or to give back when `delta` is negative. */
export interface Correction extends LimitHolder {
  readonly delta: number
  readonly nowMs: number
}

/**
 * One bucket as the `x-ratelimit-*` headers show it. `resetMs` is the time until it is full again.
 */
export interface BucketState {
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

export interface LimitVerdict {
  /** The first limit that refused, or null if the request was granted. */
  readonly refusedBy: "requests" | "tokens" | "concurrency" | null
  /** Whether the key's limit or the owner's refused; null if the request was granted. */
  readonly holder: "key" | "owner" | null
  /** Milliseconds until the refusing limit would grant the request; 0 when granted. */
  readonly retryAfterMs: number
  /** The tighter bucket of key and owner, for requests and for tokens. */
  readonly requests: BucketState
  readonly tokens: BucketState
}

/** Time in which an empty bucket refills. */
export const windowMs = 60_000
/**
 * The `Retry-After` of a refusal by concurrency. It is fixed, because the end of a running request
 * cannot be predicted.
 */
export const concurrencyRetryMs = 1_000
/** Rounding error allowed in sums of fractions, in requests, tokens or milliseconds. */
export const tolerance = 1e-6

/**
 * Milliseconds of refill since `atMs`. Requests reach the store out of order, so an `atMs` in the
 * future gives no refill. An `atMs` more than one window ahead means that the clock was set back.
 * It counts as one full window, so that the bucket does not stay empty until then.
 */
export const elapsedSince = (atMs: number, nowMs: number): number =>
  nowMs - atMs < -windowMs ? windowMs : Math.max(0, nowMs - atMs)

/**
 * The time to store with a bucket that was taken from. It never goes backwards, except after the
 * clock was set back.
 */
export const advanced = (atMs: number, nowMs: number): number =>
  nowMs - atMs < -windowMs ? nowMs : Math.max(atMs, nowMs)

/**
 * Usage of a bucket of capacity `limit`, `elapsedMs` after it had given out `used` of `usedLimit`.
 * If the limit changed in between, the used fraction stays the same, so changing a limit neither
 * fills nor empties a bucket.
 */
export const usedAfter = (used: number, usedLimit: number, limit: number, elapsedMs: number): number =>
  Math.max(0, (usedLimit > 0 ? (used * limit) / usedLimit : used) - (elapsedMs * limit) / windowMs)

/**
 * Usage of a token bucket after a correction. Output tokens are counted after they were produced,
 * so usage may exceed the capacity. The debt is capped at one minute's worth: a key that used five
 * minutes' worth at once waits one minute.
 */
export const correctedBy = (used: number, delta: number, limit: number): number =>
  Math.max(0, Math.min(used + delta, 2 * limit))

/** How much a request takes from a bucket: between 0 and the bucket's capacity. */
export const takenFrom = (wanted: number, limit: number): number => (wanted > 0 ? Math.min(wanted, limit) : 0)

/**
 * Milliseconds until a bucket would grant `wanted`; 0 means now. A bucket with limit 0 never grants
 * anything, and answers one window.
 */
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

/** Usage of one holder as of now. */
export interface Use {
  readonly limits: RateLimits
  readonly requestsUsed: number
  readonly tokensUsed: number
  /** True when a concurrency slot is free, or when the request needs none. */
  readonly leaseFree: boolean
}

/**
 * Decides on a request from the usage of its key and of the key's owner, if any. Limits are checked
 * in the order requests, tokens, concurrency, each on both holders. The returned bucket states
 * include what a granted request took. After a refusal they are unchanged.
 */
export const verdictOn = (requests: 0 | 1, tokens: number, key: Use, owner: Use | null): LimitVerdict => {
  const refused =
    refusal("requests", requestsWait(key, requests), owner === null ? 0 : requestsWait(owner, requests)) ??
    refusal("tokens", tokensWait(key, tokens), owner === null ? 0 : tokensWait(owner, tokens)) ??
    refusal("concurrency", leaseWait(key), owner === null ? 0 : leaseWait(owner))
  const taken = refused === null
  const takenRequests = taken ? requests : 0
  const takenTokens = taken ? tokens : 0
  const requestsLeft = requestsAfter(key, takenRequests)
  const tokensLeft = tokensAfter(key, takenTokens)
  return {
    refusedBy: refused?.refusedBy ?? null,
    holder: refused?.holder ?? null,
    retryAfterMs: refused?.retryAfterMs ?? 0,
    requests: owner === null ? requestsLeft : tighter(requestsLeft, requestsAfter(owner, takenRequests)),
    tokens: owner === null ? tokensLeft : tighter(tokensLeft, tokensAfter(owner, takenTokens))
  }
}

const requestsWait = ({ limits, requestsUsed }: Use, requests: 0 | 1): number =>
  requests === 0 ? 0 : waitFor(requestsUsed, requests, limits.requestsPerMinute)
const tokensWait = ({ limits, tokensUsed }: Use, tokens: number): number =>
  waitFor(tokensUsed, tokens, limits.tokensPerMinute)
const leaseWait = ({ leaseFree }: Use): number => (leaseFree ? 0 : concurrencyRetryMs)

const requestsAfter = ({ limits, requestsUsed }: Use, taken: 0 | 1): BucketState =>
  bucketState(requestsUsed + taken, limits.requestsPerMinute)
const tokensAfter = ({ limits, tokensUsed }: Use, taken: number): BucketState =>
  bucketState(tokensUsed + takenFrom(taken, limits.tokensPerMinute), limits.tokensPerMinute)

const refusal = (
  refusedBy: NonNullable<LimitVerdict["refusedBy"]>,
  keyWait: number,
  ownerWait: number
): Pick<LimitVerdict, "refusedBy" | "holder" | "retryAfterMs"> | null => {
  if (keyWait === 0 && ownerWait === 0) return null
  return keyWait >= ownerWait
    ? { refusedBy, holder: "key", retryAfterMs: keyWait }
    : { refusedBy, holder: "owner", retryAfterMs: ownerWait }
}

/** The bucket with less remaining. */
export const tighter = (key: BucketState, owner: BucketState): BucketState =>
  owner.remaining < key.remaining ? owner : key
