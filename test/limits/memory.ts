/**
 * The memory that this process holds while something runs. The gateway under test is in it, the
 * scripted upstream is not.
 */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void
/** A sample stops the program. The next one follows after ten times its duration. */
const REST = 10

/** Bytes in use by objects and buffers after a garbage collection. */
export const liveBytes = (): number => {
  collectGarbage()
  // Buffers of the first collection are released in the background and count until the next one.
  collectGarbage()
  const { external, heapUsed } = process.memoryUsage()
  return external + heapUsed
}

/** Runs an effect and returns the highest use of memory above the use before. */
export const peakWhile = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = liveBytes()
    let peakBytes = 0
    let sampler: NodeJS.Timeout | undefined
    const sample = (): void => {
      const startedAtMs = performance.now()
      peakBytes = Math.max(peakBytes, liveBytes() - before)
      sampler = setTimeout(sample, REST * (performance.now() - startedAtMs))
    }
    sample()
    return effect.pipe(
      Effect.map((answer) => ({ answer, peakBytes: Math.max(peakBytes, liveBytes() - before) })),
      Effect.ensuring(Effect.sync(() => clearTimeout(sampler)))
    )
  })
