/**
 * A map of strings with a time to live, bounded in entries and bytes. When a bound is exceeded,
 * expired entries are evicted first (searched at most once a second, so that a full table stays
 * cheap), then the least recently used, a batch at once. Every call is O(1) amortized.
 */
import { cachedBytes, maxEntryBytes } from "./CacheBounds.ts"

interface Entry {
  readonly value: string
  readonly expiresMs: number
  readonly bytes: number
}

const sweepEveryMs = 1_000
/**
 * Share of the entries that is evicted in addition to what the bound needs. Finding a map's oldest
 * entry skips all slots deleted before it, which is too slow to do for each insertion.
 */
const SPARE = 1 / 128

export class CacheTable {
  /**
   * Ordered by last use, oldest first: a map iterates in insertion order, and a read inserts the
   * entry again.
   */
  readonly #entries = new Map<string, Entry>()
  readonly #maxEntries: number
  readonly #maxBytes: number
  #bytes = 0
  #sweptMs = -Infinity

  constructor(maxEntries: number, maxBytes: number) {
    this.#maxEntries = maxEntries
    this.#maxBytes = maxBytes
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: string, nowMs: number): string | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    if (entry.expiresMs <= nowMs) {
      this.#bytes -= entry.bytes
      return undefined
    }
    this.#entries.set(key, entry)
    return entry.value
  }

  /**
   * Replaces the value of the key. A value that is too large or has no time to live is not stored,
   * but the old one is still removed.
   */
  set(key: string, value: string, ttlMs: number, nowMs: number): void {
    this.#remove(key)
    const bytes = cachedBytes(key, value)
    if (ttlMs <= 0 || bytes > maxEntryBytes || bytes > this.#maxBytes) return
    this.#entries.set(key, { value, expiresMs: nowMs + ttlMs, bytes })
    this.#bytes += bytes
    if (!this.#isFull()) return
    this.#sweep(nowMs)
    if (!this.#isFull()) return
    let spare = Math.floor(this.#entries.size * SPARE)
    for (const oldest of this.#entries.keys()) {
      if (!this.#isFull() && spare-- === 0) return
      this.#remove(oldest)
    }
  }

  #isFull(): boolean {
    return this.#entries.size > this.#maxEntries || this.#bytes > this.#maxBytes
  }

  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptMs) < sweepEveryMs) return
    this.#sweptMs = nowMs
    for (const [key, entry] of this.#entries) if (entry.expiresMs <= nowMs) this.#remove(key)
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
  }
}
