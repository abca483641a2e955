/** The life of the process, as the rest of the house asks about it: how long it has been up, and whether it is on its way out. */
import { Clock, Context, Effect, Layer, Ref } from "effect"

export class Lifecycle extends Context.Service<
  Lifecycle,
  {
    readonly uptimeSeconds: Effect.Effect<number>
    readonly draining: Effect.Effect<boolean>
    /** When the drain began; null: it has not. */
    readonly drainingSinceMs: Effect.Effect<number | null>
    /** From now on the process takes no new work. */
    readonly drain: Effect.Effect<void>
  }
>()("tollgate/gateway/process/Lifecycle") {
  static readonly layer = Layer.effect(
    Lifecycle,
    Effect.gen(function* () {
      const startedAtMs = yield* Clock.currentTimeMillis
      const drainingSinceMs = yield* Ref.make<number | null>(null)
      return {
        uptimeSeconds: Effect.map(Clock.currentTimeMillis, (nowMs) => Math.floor((nowMs - startedAtMs) / 1000)),
        draining: Effect.map(Ref.get(drainingSinceMs), (sinceMs) => sinceMs !== null),
        drainingSinceMs: Ref.get(drainingSinceMs),
        drain: Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
          Ref.update(drainingSinceMs, (sinceMs) => sinceMs ?? nowMs)
        )
      }
    })
  )
}
