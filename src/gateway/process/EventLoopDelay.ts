/** How late the event loop of this process is: what a request has to wait for before anything looks at it. */
import { Clock, Context, Effect, Layer } from "effect"

const LOOK_EVERY_MS = 500
const LOOKS = 3

export class EventLoopDelay extends Context.Service<
  EventLoopDelay,
  {
    /** The least of the last three looks, which span a second and a half: one long turn is no overload. */
    readonly recentMs: () => number
  }
>()("tollgate/gateway/process/EventLoopDelay") {
  static readonly layer = Layer.effect(
    EventLoopDelay,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const delaysMs = Array.from({ length: LOOKS }, () => 0)
      const look = Effect.gen(function* () {
        const dueAtMs = Number(clock.currentTimeNanosUnsafe()) / 1e6 + LOOK_EVERY_MS
        yield* Effect.sleep(LOOK_EVERY_MS)
        delaysMs.shift()
        delaysMs.push(Math.max(0, Number(clock.currentTimeNanosUnsafe()) / 1e6 - dueAtMs))
      })
      yield* Effect.forkScoped(Effect.forever(look))
      return { recentMs: () => Math.min(...delaysMs) }
    })
  )

  /** A delay that the test sets. */
  static readonly layerTest = (recentMs: () => number) => Layer.succeed(EventLoopDelay, { recentMs })
}
