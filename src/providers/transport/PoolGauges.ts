/**
 * Gauges of the provider connections, summed over all pools. They are read when metrics are
 * collected.
 */
import { Effect, Metric } from "effect"
import { type Pool } from "undici"

type State = "busy" | "idle" | "waiting"

const read: Readonly<Record<State, (pool: Pool) => number>> = {
  busy: ({ stats }) => stats.running,
  idle: ({ stats }) => stats.free,
  // Requests that wait for a connection.
  waiting: ({ stats }) => stats.queued
}

/** Registers the gauges until the scope closes. */
export const gaugePools = (pools: ReadonlyMap<string, Pool>) =>
  Effect.forEach(
    ["busy", "idle", "waiting"] as const,
    (state) =>
      Effect.flatMap(Effect.context(), (context) =>
        Effect.acquireRelease(
          Effect.sync(() =>
            Metric.registerUnsafe(
              Metric.gauge("tollgate.provider.connections", {
                description: "Requests on connections to providers, idle connections, and requests that wait for one",
                attributes: { state, unit: "{connection}" }
              }),
              context,
              {
                get: () => ({ value: [...pools.values()].reduce((sum, pool) => sum + read[state](pool), 0) }),
                update: () => undefined,
                modify: () => undefined
              }
            )
          ),
          (registration) => Effect.sync(registration.remove)
        )
      ),
    { discard: true }
  )
