/** The state of the process: its uptime, and whether it is draining. */
import { Clock, Context, Effect, Layer, Ref } from "effect"

export class Lifecycle extends Context.Service<
  Lifecycle,
  {
    readonly uptimeSeconds: Effect.Effect<number>
    readonly draining: Effect.Effect<boolean>
    /** When the drain began; null before. */
    readonly drainingSinceMs: Effect.Effect<number | null>
    /** Starts the drain: from now on the process accepts no new work. */
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
