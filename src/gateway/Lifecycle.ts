/** The life of the process, as the rest of the house asks about it: how long it has been up, and whether it is on its way out. */
import { Clock, Context, Effect, Layer, Ref } from "effect"

export class Lifecycle extends Context.Service<
  Lifecycle,
  {
    readonly uptimeSeconds: Effect.Effect<number>
    readonly draining: Effect.Effect<boolean>
    /** From now on the process takes no new work. */
    readonly drain: Effect.Effect<void>
  }
>()("tollgate/gateway/Lifecycle") {
  static readonly layer = Layer.effect(
    Lifecycle,
    Effect.gen(function* () {
      const startedAtMs = yield* Clock.currentTimeMillis
      const draining = yield* Ref.make(false)
      return {
        uptimeSeconds: Effect.map(Clock.currentTimeMillis, (nowMs) => Math.floor((nowMs - startedAtMs) / 1000)),
        draining: Ref.get(draining),
        drain: Ref.set(draining, true)
      }
    })
  )
}
