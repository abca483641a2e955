/** The delay of this process' event loop: how long a request waits before any code handles it. */
import { Clock, Context, Effect, Layer } from "effect"

const SAMPLE_EVERY_MS = 500
const SAMPLES = 3

export class EventLoopDelay extends Context.Service<
  EventLoopDelay,
  {
    /**
     * The least of the last three samples, which span 1.5 seconds, so that one long turn does not
     * count as overload.
     */
    readonly recentMs: () => number
  }
>()("tollgate/gateway/process/EventLoopDelay") {
  static readonly layer = Layer.effect(
    EventLoopDelay,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const delaysMs = Array.from({ length: SAMPLES }, () => 0)
      const sample = Effect.gen(function* () {
        const dueAtMs = Number(clock.currentTimeNanosUnsafe()) / 1e6 + SAMPLE_EVERY_MS
        yield* Effect.sleep(SAMPLE_EVERY_MS)
        delaysMs.shift()
        delaysMs.push(Math.max(0, Number(clock.currentTimeNanosUnsafe()) / 1e6 - dueAtMs))
      })
      yield* Effect.forkScoped(Effect.forever(sample))
      return { recentMs: () => Math.min(...delaysMs) }
    })
  )

  /** A delay that the test sets. */
  static readonly layerTest = (recentMs: () => number) => Layer.succeed(EventLoopDelay, { recentMs })
}
