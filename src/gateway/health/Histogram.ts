/**
 * Values as weights in buckets, which can be added over processes and decay with time. Whole
 * numbers up to 127 have their own bucket. Above, a bucket is less than 2 % wide and stands for its
 * lower edge.
 */

const EXACT = 128
/** Buckets in an octave. */
const STEPS = 64

export const bucketOf = (value: number): number => {
  const whole = Math.max(0, Math.round(value))
  if (whole < EXACT) return whole
  const octave = Math.floor(Math.log2(whole)) - 6
  return EXACT + (octave - 1) * STEPS + Math.floor(whole / 2 ** octave) - STEPS
}

/** The value that a bucket stands for. */
export const valueOf = (bucket: number): number => {
  if (bucket < EXACT) return bucket
  const octave = Math.floor((bucket - EXACT) / STEPS) + 1
  return (((bucket - EXACT) % STEPS) + STEPS) * 2 ** octave
}

/** Weights by bucket. */
export class Histogram {
  readonly #weights = new Map<number, number>()
  #total = 0

  add(bucket: number, weight: number): void {
    this.#weights.set(bucket, (this.#weights.get(bucket) ?? 0) + weight)
    this.#total += weight
  }

  /**
   * The smallest value that covers the given share of the weight; null if the histogram is empty.
   */
  quantile(share: number): number | null {
    if (this.#total <= 0) return null
    const buckets = Array.from(this.#weights).sort(([a], [b]) => a - b)
    const wanted = share * this.#total * (1 - 1e-9)
    let below = 0
    const found = buckets.find(([, weight]) => (below += weight) >= wanted) ?? buckets.at(-1)
    return found === undefined ? null : valueOf(found[0])
  }
}
