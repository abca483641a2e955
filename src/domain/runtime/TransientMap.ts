/**
 * A map of what runs: entries come and go with each request. In a `Map` that lives long, the state
 * of ended requests survives until the next full collection of garbage. V8 links each table that a
 * `Map` outgrows to the next one. Once one of them is in the old generation, all later tables
 * survive with it, and so do the entries that each had when it was replaced. This map empties what
 * it deletes, and renews its `Map` before that is outgrown.
 */
interface Entry<V> {
  value: V | undefined
}

/** The fewest deletions before the table is renewed. */
const RENEWED_AFTER = 64

export class TransientMap<K, V> {
  #entries = new Map<K, Entry<V>>()
  #deleted = 0

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }

  set(key: K, value: V): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) this.#entries.set(key, { value })
    else entry.value = value
  }

  /** Whether there was an entry. */
  delete(key: K): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    entry.value = undefined
    this.#entries.delete(key)
    this.#deleted++
    if (this.#deleted >= RENEWED_AFTER && this.#deleted > this.#entries.size) {
      this.#entries = new Map(this.#entries)
      this.#deleted = 0
    }
    return true
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** `visit` may delete entries. */
  forEach(visit: (value: V, key: K) => void): void {
    for (const [key, { value }] of this.#entries) if (value !== undefined) visit(value, key)
  }

  entries(): Array<[K, V]> {
    const entries: Array<[K, V]> = []
    this.forEach((value, key) => entries.push([key, value]))
    return entries
  }

  values(): Array<V> {
    const values: Array<V> = []
    this.forEach((value) => values.push(value))
    return values
  }
}
