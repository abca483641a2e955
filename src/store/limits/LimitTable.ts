/**
 * Rate limits of one process, held in plain maps. Every call is synchronous, hence atomic, and O(1)
 * amortized.
 *
 * Memory is bounded by the keys and owners in use. Adding an entry examines two older entries and
 * removes those that are idle: both buckets full and no lease. This loses nothing, because an
 * absent bucket counts as full. An entry in use is never evicted, because that would lift its
 * limits.
 */
import { TransientMap } from "../../domain/runtime/TransientMap.ts"
import { type RateLimits } from "../../domain/Key.ts"
import {
  advanced,
  type BucketState,
  bucketState,
  correctedBy,
  type Correction,
  elapsedSince,
  type Lease,
  type LimitHolder,
  type LimitRequest,
  type LimitVerdict,
  takenFrom,
  tighter,
  type TokenRequest,
  type Use,
  usedAfter,
  verdictOn
} from "./LimitVerdict.ts"

/**
 * The buckets and leases of one key or owner. Both `used` figures were true at `atMs`, and each is
 * relative to the limit stored with it.
 */
interface Entry {
  atMs: number
  requestsUsed: number
  requestsLimit: number
  tokensUsed: number
  tokensLimit: number
  /** From a lease's id to the time at which it expires. */
  readonly leases: TransientMap<string, number>
  /** Lower bound of the expiry times in `leases`. */
  firstExpiryMs: number
}

/** One holder's usage as of now. It is written back to `entry` only when the request is granted. */
interface Account extends Use {
  readonly name: string
  readonly entry: Entry
  readonly isNew: boolean
}

const ownerName = (ownerId: string): string => `owner:${ownerId}`

export class LimitTable {
  readonly #entries = new Map<string, Entry>()
  #sweep = this.#entries.entries()

  /** Number of keys and owners in the table. */
  get size(): number {
    return this.#entries.size
  }

  /** See `Limits.acquire`. */
  acquire(request: LimitRequest): LimitVerdict {
    const { leaseId, leaseMs, nowMs } = request
    const key = this.#account(request.keyId, request.limits, nowMs, leaseId)
    const owner = this.#ownerOf(request, nowMs, leaseId)
    const verdict = verdictOn(1, request.tokens, key, owner)
    if (verdict.refusedBy !== null) return verdict
    this.#take(key, 1, request.tokens, nowMs)
    setLease(key.entry, leaseId, nowMs + leaseMs)
    if (owner !== null) {
      this.#take(owner, 1, request.tokens, nowMs)
      setLease(owner.entry, leaseId, nowMs + leaseMs)
    }
    return verdict
  }

  /** See `Limits.take`. */
  take(request: TokenRequest): LimitVerdict {
    const { nowMs, tokens } = request
    const key = this.#account(request.keyId, request.limits, nowMs, null)
    const owner = this.#ownerOf(request, nowMs, null)
    const verdict = verdictOn(0, tokens, key, owner)
    if (verdict.refusedBy !== null) return verdict
    this.#take(key, 0, tokens, nowMs)
    if (owner !== null) this.#take(owner, 0, tokens, nowMs)
    return verdict
  }

  /** See `Limits.renew`. */
  renew(leases: ReadonlyArray<Lease>, leaseMs: number, nowMs: number): void {
    for (const { keyId, leaseId, ownerId } of leases) {
      for (const name of ownerId === null ? [keyId] : [keyId, ownerName(ownerId)]) {
        const entry = this.#entries.get(name) ?? newEntry(noLimits, 0)
        setLease(entry, leaseId, nowMs + leaseMs)
        if (!this.#entries.has(name)) this.#add(name, entry, nowMs)
      }
    }
  }

  /** See `Limits.release`. */
  release({ keyId, leaseId, ownerId }: Lease): void {
    this.#entries.get(keyId)?.leases.delete(leaseId)
    if (ownerId !== null) this.#entries.get(ownerName(ownerId))?.leases.delete(leaseId)
  }

  /** See `Limits.correct`. */
  correct(correction: Correction): BucketState {
    const { delta, nowMs } = correction
    const key = this.#account(correction.keyId, correction.limits, nowMs, null)
    const owner = this.#ownerOf(correction, nowMs, null)
    const corrected = (account: Account): BucketState => {
      const { tokensPerMinute } = account.limits
      const tokensUsed = correctedBy(account.tokensUsed, delta, tokensPerMinute)
      if (!account.isNew || delta > 0) this.#write(account, 0, tokensUsed, nowMs)
      return bucketState(tokensUsed, tokensPerMinute)
    }
    const state = corrected(key)
    return owner === null ? state : tighter(state, corrected(owner))
  }

  #ownerOf({ owner }: LimitHolder, nowMs: number, leaseId: string | null): Account | null {
    return owner === undefined || owner === null
      ? null
      : this.#account(ownerName(owner.id), owner.limits, nowMs, leaseId)
  }

  #account(name: string, limits: RateLimits, nowMs: number, leaseId: string | null): Account {
    const known = this.#entries.get(name)
    const entry = known ?? newEntry(limits, nowMs)
    const elapsedMs = elapsedSince(entry.atMs, nowMs)
    if (leaseId !== null) dropExpired(entry, nowMs)
    return {
      name,
      entry,
      isNew: known === undefined,
      limits,
      requestsUsed: usedAfter(entry.requestsUsed, entry.requestsLimit, limits.requestsPerMinute, elapsedMs),
      tokensUsed: usedAfter(entry.tokensUsed, entry.tokensLimit, limits.tokensPerMinute, elapsedMs),
      leaseFree: leaseId === null || entry.leases.size < limits.concurrency || entry.leases.has(leaseId)
    }
  }

  #take(account: Account, requests: 0 | 1, tokens: number, nowMs: number): void {
    this.#write(account, requests, account.tokensUsed + takenFrom(tokens, account.limits.tokensPerMinute), nowMs)
  }

  #write({ entry, limits, name, requestsUsed }: Account, requests: 0 | 1, tokensUsed: number, nowMs: number) {
    entry.atMs = advanced(entry.atMs, nowMs)
    entry.requestsUsed = requestsUsed + requests
    entry.requestsLimit = limits.requestsPerMinute
    entry.tokensUsed = tokensUsed
    entry.tokensLimit = limits.tokensPerMinute
    // The entry is new, or it was idle and adding the key's entry has just removed it.
    if (this.#entries.get(name) !== entry) this.#add(name, entry, nowMs)
  }

  #add(name: string, entry: Entry, nowMs: number): void {
    this.#entries.set(name, entry)
    for (let examined = 0; examined < 2; examined++) {
      const next = this.#sweep.next()
      if (next.done === true) {
        this.#sweep = this.#entries.entries()
        return
      }
      if (next.value[1] !== entry && isIdle(next.value[1], nowMs)) this.#entries.delete(next.value[0])
    }
  }
}

/**
 * The limits of an entry that was removed as idle while a lease of it still runs. With nothing
 * used, its bucket counts as full under any limit.
 */
const noLimits: RateLimits = { requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 0 }

const newEntry = (limits: RateLimits, nowMs: number): Entry => ({
  atMs: nowMs,
  requestsUsed: 0,
  requestsLimit: limits.requestsPerMinute,
  tokensUsed: 0,
  tokensLimit: limits.tokensPerMinute,
  leases: new TransientMap(),
  firstExpiryMs: Infinity
})

const setLease = (entry: Entry, leaseId: string, expiresMs: number): void => {
  entry.leases.set(leaseId, expiresMs)
  if (expiresMs < entry.firstExpiryMs) entry.firstExpiryMs = expiresMs
}

const dropExpired = (entry: Entry, nowMs: number): void => {
  if (nowMs < entry.firstExpiryMs) return
  entry.firstExpiryMs = Infinity
  entry.leases.forEach((expiresMs, leaseId) => {
    if (expiresMs <= nowMs) entry.leases.delete(leaseId)
    else if (expiresMs < entry.firstExpiryMs) entry.firstExpiryMs = expiresMs
  })
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
