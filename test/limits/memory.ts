/**
 * What this process keeps alive while something runs: the gateway under test is in it, the scripted
 * upstream is not.
 */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void
/** A sample stops everything: so many times as long as it took pass before the next. */
const REST = 10

/** Bytes in use by objects and buffers once the garbage is collected. */
export const liveBytes = (): number => {
  collectGarbage()
  // The buffers of the first collection are given back beside the program, and are counted until
  // the next.
  collectGarbage()
  const { external, heapUsed } = process.memoryUsage()
  return external + heapUsed
}

/** Runs an effect and answers the most that was alive meanwhile beyond what was alive before. */
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
