/**
 * Limits of one process, in plain maps. Every call is O(1), amortized, and synchronous, hence atomic. Memory is bounded by the
 * keys in use: each new key looks at two older ones and forgets those that are idle (both buckets full, no lease), which loses
 * nothing, because an absent bucket is a full one. No key in use is ever forgotten: that would lift its limits.
 */
import { type RateLimits } from "../domain/Key.ts"
import {
  advanced,
  elapsedSince,
  type LimitRequest,
  type LimitVerdict,
  takenFrom,
  usedAfter,
  verdictOn
} from "./LimitVerdict.ts"

/** `atMs`: the moment at which the `used` figures held, each out of the limit beside it. */
interface Entry {
  atMs: number
  requestsUsed: number
  requestsLimit: number
  tokensUsed: number
  tokensLimit: number
  /** Lease id to the moment it expires. */
  readonly leases: Map<string, number>
  /** No lease expires before this moment. */
  firstExpiryMs: number
}

export class LimitTable {
  readonly #entries = new Map<string, Entry>()
  #sweep = this.#entries.entries()

  /** How many keys are remembered. */
  get size(): number {
    return this.#entries.size
  }

  /** As `Limits.acquire`. */
  acquire(request: LimitRequest): LimitVerdict {
    const { limits, nowMs } = request
    const known = this.#entries.get(request.keyId)
    const entry = known ?? newEntry(limits, nowMs)
    const elapsedMs = elapsedSince(entry.atMs, nowMs)
    const requestsUsed = usedAfter(entry.requestsUsed, entry.requestsLimit, limits.requestsPerMinute, elapsedMs)
    const tokensUsed = usedAfter(entry.tokensUsed, entry.tokensLimit, limits.tokensPerMinute, elapsedMs)
    dropExpired(entry, nowMs)
    const leaseFree = entry.leases.size < limits.concurrency || entry.leases.has(request.leaseId)
    const verdict = verdictOn(limits, request.tokens, requestsUsed, tokensUsed, leaseFree)
    if (verdict.refusedBy !== null) return verdict
    entry.atMs = advanced(entry.atMs, nowMs)
    entry.requestsUsed = requestsUsed + 1
    entry.requestsLimit = limits.requestsPerMinute
    entry.tokensUsed = tokensUsed + takenFrom(request.tokens, limits.tokensPerMinute)
    entry.tokensLimit = limits.tokensPerMinute
    const expiresMs = nowMs + request.leaseMs
    entry.leases.set(request.leaseId, expiresMs)
    if (expiresMs < entry.firstExpiryMs) entry.firstExpiryMs = expiresMs
    if (known === undefined) this.#remember(request.keyId, entry, nowMs)
    return verdict
  }

  /** As `Limits.release`. */
  release(keyId: string, leaseId: string): void {
    this.#entries.get(keyId)?.leases.delete(leaseId)
  }

  /** As `Limits.correct`. */
  correct(keyId: string, limits: RateLimits, delta: number, nowMs: number): void {
    const known = this.#entries.get(keyId)
    if (known === undefined && delta <= 0) return
    const entry = known ?? newEntry(limits, nowMs)
    const elapsedMs = elapsedSince(entry.atMs, nowMs)
    const tokensUsed = usedAfter(entry.tokensUsed, entry.tokensLimit, limits.tokensPerMinute, elapsedMs)
    entry.requestsUsed = usedAfter(entry.requestsUsed, entry.requestsLimit, limits.requestsPerMinute, elapsedMs)
    entry.requestsLimit = limits.requestsPerMinute
    entry.tokensUsed = Math.max(0, tokensUsed + delta)
    entry.tokensLimit = limits.tokensPerMinute
    entry.atMs = advanced(entry.atMs, nowMs)
    if (known === undefined) this.#remember(keyId, entry, nowMs)
  }

  #remember(keyId: string, entry: Entry, nowMs: number): void {
    this.#entries.set(keyId, entry)
    for (let looked = 0; looked < 2; looked++) {
      const next = this.#sweep.next()
      if (next.done === true) {
        this.#sweep = this.#entries.entries()
        return
      }
      if (isIdle(next.value[1], nowMs)) this.#entries.delete(next.value[0])
    }
  }
}

const newEntry = (limits: RateLimits, nowMs: number): Entry => ({
  atMs: nowMs,
  requestsUsed: 0,
  requestsLimit: limits.requestsPerMinute,
  tokensUsed: 0,
  tokensLimit: limits.tokensPerMinute,
  leases: new Map(),
  firstExpiryMs: Infinity
})

const dropExpired = (entry: Entry, nowMs: number): void => {
  if (nowMs < entry.firstExpiryMs) return
  entry.firstExpiryMs = Infinity
  for (const [leaseId, expiresMs] of entry.leases) {
    if (expiresMs <= nowMs) entry.leases.delete(leaseId)
    else if (expiresMs < entry.firstExpiryMs) entry.firstExpiryMs = expiresMs
  }
}

const isIdle = (entry: Entry, nowMs: number): boolean => {
  dropExpired(entry, nowMs)
  const elapsedMs = elapsedSince(entry.atMs, nowMs)
  return (
    entry.leases.size === 0 &&
    usedAfter(entry.requestsUsed, entry.requestsLimit, entry.requestsLimit, elapsedMs) === 0 &&
    usedAfter(entry.tokensUsed, entry.tokensLimit, entry.tokensLimit, elapsedMs) === 0
  )
}
