/**
 * Measures one function on texts of growing length beside each other, and says whether its time
 * grows faster than they do.
 */
import { type TestContext } from "vitest"

const sizes = [1_000, 10_000, 100_000, 1_000_000] as const

/**
 * Ten times the text may take so many times the time: what leaves the processor's caches is slower.
 * A square would take a hundred.
 */
const TEN_TIMES = 30

/**
 * `linear`, or where it is not. `prepare` makes what is measured for one length; that itself is not
 * measured.
 */
export const growth = async (
  bench: TestContext["bench"],
  prepare: (characters: number) => () => unknown
): Promise<string> => {
  const nameOf = (size: number) => `${size / 1_000} kB`
  const runs = sizes.map((size) => {
    const run = prepare(size)
    return bench(nameOf(size), () => void run())
  })
  const options = { time: 400, warmupTime: 100, iterations: 3, warmupIterations: 1 }
  const measured = await bench.compare(...runs, options)
  // The shortest time of each: whatever else the machine does only adds to it.
  const shortest = sizes.map((size) => measured.get(nameOf(size)).latency.min)
  // Below a hundredth of a millisecond the clock is what is measured.
  const steep = shortest.findIndex((ms, at) => at > 0 && ms > Math.max(shortest[at - 1] ?? 0, 0.01) * TEN_TIMES)
  return steep === -1 ? "linear" : `${shortest[steep - 1]} ms, and ${shortest[steep]} ms for ten times the text`
}
