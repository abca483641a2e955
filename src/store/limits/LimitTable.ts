/**
 * Limits of one process, in plain maps. Every call is O(1), amortized, and synchronous, hence atomic. Memory is bounded by the
 * keys and owners in use: each new one looks at two older ones and forgets those that are idle (both buckets full, no lease),
 * which loses nothing, because an absent bucket is a full one. Nobody in use is ever forgotten: that would lift the limits.
 */
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

/** One holder's entry, brought up to now. Nothing of it is written back unless the request is granted. */
interface Account extends Use {
  readonly name: string
  readonly entry: Entry
  readonly isNew: boolean
}

const ownerName = (ownerId: string): string => `owner:${ownerId}`

export class LimitTable {
  readonly #entries = new Map<string, Entry>()
  #sweep = this.#entries.entries()

  /** How many keys and owners are remembered. */
  get size(): number {
    return this.#entries.size
  }

  /** As `Limits.acquire`. */
  acquire(request: LimitRequest): LimitVerdict {
    const { leaseId, leaseMs, nowMs } = request
    const [key, owner] = this.#accounts(request, nowMs, leaseId)
    const verdict = verdictOn(1, request.tokens, key, owner)
    if (verdict.refusedBy !== null) return verdict
    for (const account of owner === null ? [key] : [key, owner]) {
      this.#write(account, 1, account.tokensUsed + takenFrom(request.tokens, account.limits.tokensPerMinute), nowMs)
      lease(account.entry, leaseId, nowMs + leaseMs)
    }
    return verdict
  }

  /** As `Limits.take`. */
  take(request: TokenRequest): LimitVerdict {
    const { nowMs, tokens } = request
    const [key, owner] = this.#accounts(request, nowMs, null)
    const verdict = verdictOn(0, tokens, key, owner)
    if (verdict.refusedBy !== null) return verdict
    for (const account of owner === null ? [key] : [key, owner]) {
      this.#write(account, 0, account.tokensUsed + takenFrom(tokens, account.limits.tokensPerMinute), nowMs)
    }
    return verdict
  }

  /** As `Limits.renew`. */
  renew(leases: ReadonlyArray<Lease>, leaseMs: number, nowMs: number): void {
    for (const { keyId, leaseId, ownerId } of leases) {
      for (const name of ownerId === null ? [keyId] : [keyId, ownerName(ownerId)]) {
        const entry = this.#entries.get(name) ?? newEntry(unknown, 0)
        lease(entry, leaseId, nowMs + leaseMs)
        if (!this.#entries.has(name)) this.#remember(name, entry, nowMs)
      }
    }
  }

  /** As `Limits.release`. */
  release({ keyId, leaseId, ownerId }: Lease): void {
    this.#entries.get(keyId)?.leases.delete(leaseId)
    if (ownerId !== null) this.#entries.get(ownerName(ownerId))?.leases.delete(leaseId)
  }

  /** As `Limits.correct`. */
  correct(correction: Correction): BucketState {
    const { delta, nowMs } = correction
    const [key, owner] = this.#accounts(correction, nowMs, null)
    const corrected = (account: Account): BucketState => {
      const { tokensPerMinute } = account.limits
      const tokensUsed = correctedBy(account.tokensUsed, delta, tokensPerMinute)
      if (!account.isNew || delta > 0) this.#write(account, 0, tokensUsed, nowMs)
      return bucketState(tokensUsed, tokensPerMinute)
    }
    const state = corrected(key)
    return owner === null ? state : tighter(state, corrected(owner))
  }

  #accounts(holder: LimitHolder, nowMs: number, leaseId: string | null): readonly [Account, Account | null] {
    const key = this.#account(holder.keyId, holder.limits, nowMs, leaseId)
    const { owner } = holder
    const hasOwner = owner !== undefined && owner !== null
    return [key, hasOwner ? this.#account(ownerName(owner.id), owner.limits, nowMs, leaseId) : null]
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

  #write({ entry, limits, name, requestsUsed }: Account, requests: 0 | 1, tokensUsed: number, nowMs: number) {
    entry.atMs = advanced(entry.atMs, nowMs)
    entry.requestsUsed = requestsUsed + requests
    entry.requestsLimit = limits.requestsPerMinute
    entry.tokensUsed = tokensUsed
    entry.tokensLimit = limits.tokensPerMinute
    // It may be new, or have been forgotten a moment ago, as idle, when the key's entry was remembered.
    if (this.#entries.get(name) !== entry) this.#remember(name, entry, nowMs)
  }

  #remember(name: string, entry: Entry, nowMs: number): void {
    this.#entries.set(name, entry)
    for (let looked = 0; looked < 2; looked++) {
      const next = this.#sweep.next()
      if (next.done === true) {
        this.#sweep = this.#entries.entries()
        return
      }
      if (next.value[1] !== entry && isIdle(next.value[1], nowMs)) this.#entries.delete(next.value[0])
    }
  }
}

/** Of a holder that was forgotten as idle while one of its leases lives on: a full bucket under any limit. */
const unknown: RateLimits = { requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 0 }

const newEntry = (limits: RateLimits, nowMs: number): Entry => ({
  atMs: nowMs,
  requestsUsed: 0,
  requestsLimit: limits.requestsPerMinute,
  tokensUsed: 0,
  tokensLimit: limits.tokensPerMinute,
  leases: new Map(),
  firstExpiryMs: Infinity
})

const lease = (entry: Entry, leaseId: string, expiresMs: number): void => {
  entry.leases.set(leaseId, expiresMs)
  if (expiresMs < entry.firstExpiryMs) entry.firstExpiryMs = expiresMs
}

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
