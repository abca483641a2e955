/**
 * The running calls of this process, for each provider and each of its keys. Traffic goes to the
 * one with the fewest, and among those to the one that has waited longest for its turn. A streamed
 * call runs until its stream ends.
 */
import { type Candidate, keyName } from "../../domain/Catalog.ts"

interface Use {
  running: number
  /** The number of the last call that began. */
  last: number
}

export class InFlight {
  readonly #uses = new Map<string, Use>()
  #calls = 0

  /** A call begins. */
  begin(candidate: Candidate): void {
    this.#calls++
    for (const use of this.#usesOf(candidate)) {
      use.running++
      use.last = this.#calls
    }
  }

  /** A call that began has ended. */
  end(candidate: Candidate): void {
    for (const use of this.#usesOf(candidate)) use.running--
  }

  /** The running calls of the provider, or of its key if the candidate names one. */
  running(candidate: Candidate): number {
    return this.#uses.get(keyName(candidate))?.running ?? 0
  }

  /**
   * Sorts by the load: running calls for each key, then the time since the last call. Equals keep
   * their order.
   */
  leastFirst(candidates: ReadonlyArray<Candidate>): ReadonlyArray<Candidate> {
    const used = candidates.map((candidate) => {
      const { last, running } = this.#uses.get(keyName(candidate)) ?? { running: 0, last: 0 }
      const keys = candidate.key === undefined ? (candidate.provider.apiKeys?.length ?? 1) : 1
      return { candidate, load: running / keys, last }
    })
    return used.sort((a, b) => a.load - b.load || a.last - b.last).map(({ candidate }) => candidate)
  }

  /** Sorts each group of equal candidates by the load. */
  shared(ranked: ReadonlyArray<Candidate>, groupSizes: ReadonlyArray<number>): ReadonlyArray<Candidate> {
    if (groupSizes.every((size) => size === 1)) return ranked
    let start = 0
    const groups = groupSizes.map((size) => ranked.slice(start, (start += size)))
    return groups.flatMap((group) => (group.length > 1 ? this.leastFirst(group) : group))
  }

  #usesOf(candidate: Candidate): ReadonlyArray<Use> {
    const { key, provider } = candidate
    return key === undefined
      ? [this.#useOf(provider.slug)]
      : [this.#useOf(provider.slug), this.#useOf(keyName(candidate))]
  }

  #useOf(name: string): Use {
    let use = this.#uses.get(name)
    if (use === undefined) this.#uses.set(name, (use = { running: 0, last: 0 }))
    return use
  }
}
