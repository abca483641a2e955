/**
 * A bounded cache with two generations. Entries that are read move to the young generation. When
 * that is full it becomes the old one, and the previous old one is dropped. Single entries are
 * never deleted, because finding a map's oldest entry after many deletions is slow.
 */
export class TwoGenerations<A> {
  readonly #most: number
  #young = new Map<string, A>()
  #old = new Map<string, A>()

  /** `most`: the most entries. */
  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  get(name: string): A | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young
    const old = this.#old.get(name)
    if (old !== undefined) this.set(name, old)
    return old
  }

  set(name: string, value: A): void {
    if (this.#young.size >= this.#most / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(name, value)
  }
}
