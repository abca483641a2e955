/**
 * Whether the gateway can serve. The database, the limit store and the cache are pinged, and
 * providers are judged by their circuits. Nothing is served without the database and the limit
 * store. A cache that does not answer only degrades the service. Results of pings are cached for
 * one second, so frequent checks cost the dependencies nothing.
 */
import { Clock, Context, Duration, Effect, Exit, Layer } from "effect"
import { Providers } from "../../providers/Providers.ts"
import { CacheStore } from "../../store/cache/CacheStore.ts"
import { Ledger } from "../../store/ledger/Ledger.ts"
import { Limits } from "../../store/limits/Limits.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { Circuits } from "../health/Circuits.ts"
import { type CircuitState } from "../health/CircuitState.ts"
import { Load, type LoadLimits } from "../process/Load.ts"
import { Lifecycle } from "../process/Lifecycle.ts"
import { makeLookupCache } from "../keys/LookupCache.ts"

export interface DependencyHealth {
  readonly status: "ok" | "unavailable"
  readonly latencyMs: number
}

export interface ProviderHealth {
  readonly slug: string
  /** `ok`: every model can be called. `degraded`: some cannot. `down`: none can. */
  readonly status: "ok" | "degraded" | "down"
  readonly circuit: CircuitState["state"]
  /** Milliseconds until an open circuit is retried. */
  readonly openForMs: number | null
}

export interface HealthReport {
  readonly status: "ok" | "degraded" | "overloaded" | "unavailable"
  readonly uptimeSeconds: number
  readonly database: DependencyHealth
  readonly limitStore: DependencyHealth
  readonly cache: DependencyHealth
  readonly providers: ReadonlyArray<ProviderHealth>
}

const PING_LIMIT = Duration.seconds(2)
/** How long the results of pings are cached. */
const PING_TTL = Duration.seconds(1)

export class Health extends Context.Service<
  Health,
  {
    readonly report: Effect.Effect<HealthReport>
    readonly providers: Effect.Effect<ReadonlyArray<ProviderHealth>>
    readonly uptimeSeconds: Effect.Effect<number>
    /** True when the database and the limit store answer and no drain has begun. */
    readonly ready: Effect.Effect<boolean>
  }
>()("tollgate/gateway/admin/Health") {
  static readonly layer = (limits: LoadLimits) =>
    Layer.effect(
      Health,
      Effect.gen(function* () {
        const load = yield* Load
        const ledger = yield* Ledger
        const limitStorage = yield* Limits
        const cache = yield* CacheStore
        const { all } = yield* Providers
        const circuits = yield* Circuits
        const { draining, uptimeSeconds } = yield* Lifecycle

        const providers = Effect.forEach(all, ({ config }) =>
          Effect.map(
            Effect.forEach(config.models, (offer) => circuits.stateHere({ provider: config, offer })),
            (states): ProviderHealth => {
              const open = states.filter(({ state }) => state === "open")
              return {
                slug: config.slug,
                status: open.length === 0 ? "ok" : open.length < states.length ? "degraded" : "down",
                circuit:
                  open.length > 0 ? "open" : states.some(({ state }) => state === "half_open") ? "half_open" : "closed",
                openForMs: open.reduce<number | null>(
                  (longest, { openForMs }) => Math.max(longest ?? 0, openForMs ?? 0),
                  null
                )
              }
            }
          )
        )

        const pingDependencies = Effect.gen(function* () {
          const [database, limitStore, cacheHealth] = yield* Effect.all(
            [ping(ledger.ping), ping(limitStorage.ping), ping(cache.ping)],
            { concurrency: "unbounded" }
          )
          return { database, limitStore, cacheHealth, serving: database.status === "ok" && limitStore.status === "ok" }
        })
        const pings = yield* makeLookupCache(() => pingDependencies, { capacity: 1, ttl: PING_TTL })
        const dependencies = pings.get("all")

        const report = Effect.gen(function* () {
          const { cacheHealth, database, limitStore, serving } = yield* dependencies
          const states = yield* providers
          const whole = cacheHealth.status === "ok" && states.every(({ status }) => status === "ok")
          return {
            status: !serving ? "unavailable" : load.isOver(limits) ? "overloaded" : whole ? "ok" : "degraded",
            uptimeSeconds: yield* uptimeSeconds,
            database,
            limitStore,
            cache: cacheHealth,
            providers: states
          } satisfies HealthReport
        })

        return Health.of({
          report,
          providers,
          uptimeSeconds,
          ready: Effect.flatMap(draining, (leaving) =>
            leaving ? Effect.succeed(false) : Effect.map(dependencies, ({ serving }) => serving)
          )
        })
      })
    )
}

const ping = (trip: Effect.Effect<void, StoreError>): Effect.Effect<DependencyHealth> =>
  Effect.gen(function* () {
    const startMs = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(Effect.timeout(trip, PING_LIMIT))
    const latencyMs = (yield* Clock.currentTimeMillis) - startMs
    return { status: Exit.isSuccess(exit) ? "ok" : "unavailable", latencyMs } satisfies DependencyHealth
  })
