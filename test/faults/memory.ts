/** What this process keeps alive while something runs: the gateway under test is in it, the scripted upstream is not. */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void
const SAMPLE_EVERY_MS = 300

/** Bytes in use by objects and buffers once the garbage is collected. */
export const liveBytes = (): number => {
  collectGarbage()
  const { external, heapUsed } = process.memoryUsage()
  return external + heapUsed
}

/** Runs an effect and answers the most that was alive meanwhile beyond what was alive before. */
export const peakWhile = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = liveBytes()
    let peakBytes = 0
    const sampler = setInterval(() => void (peakBytes = Math.max(peakBytes, liveBytes() - before)), SAMPLE_EVERY_MS)
    return effect.pipe(
      Effect.map((answer) => ({ answer, peakBytes: Math.max(peakBytes, liveBytes() - before) })),
      Effect.ensuring(Effect.sync(() => clearInterval(sampler)))
    )
  })
