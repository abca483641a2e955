/**
 * Whether the gateway can serve. The database, the limit store and the cache are pinged, and
 * providers are judged by their circuits. Nothing is served without the database and the limit
 * store. A cache that does not answer only degrades the service. Results of pings are cached for
 * one second, so frequent checks cost the dependencies nothing.
 */
import { Clock, Context, Duration, Effect, Exit, Layer } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
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
  /** Since when this process knows that calls fail. Null: they do not. */
  readonly sinceMs: number | null
  readonly models: ReadonlyArray<ModelHealth>
}

/**
 * The circuit of one model. It is half open while the provider refuses the gateway's credentials
 * and some requests are tried.
 */
export interface ModelHealth extends CircuitState {
  readonly model: string
}

export interface HealthReport {
  readonly status: "ok" | "degraded" | "overloaded" | "unavailable"
  readonly uptimeSeconds: number
  readonly database: DependencyHealth
  readonly limitStore: DependencyHealth
  readonly cache: DependencyHealth
  readonly providers: ReadonlyArray<ProviderHealth>
  /** Why the status is not `ok`, a sentence each. */
  readonly reasons: ReadonlyArray<string>
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

        const modelHealth = (candidate: Candidate) =>
          Effect.map(circuits.stateHere(candidate), (circuit): ModelHealth => {
            const model = candidate.offer.id
            const refusedSinceMs = circuits.refusedSinceMs(candidate)
            return circuit.state === "closed" && refusedSinceMs !== null
              ? { model, state: "half_open", openForMs: null, sinceMs: refusedSinceMs }
              : { model, ...circuit }
          })

        const providers = Effect.forEach(all, ({ config }) =>
          Effect.map(
            Effect.forEach(config.models, (offer) => modelHealth({ provider: config, offer })),
            (models) => providerHealth(config.slug, models)
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
          const isOverloaded = load.isOver(limits)
          return {
            status: !serving ? "unavailable" : isOverloaded ? "overloaded" : whole ? "ok" : "degraded",
            uptimeSeconds: yield* uptimeSeconds,
            database,
            limitStore,
            cache: cacheHealth,
            providers: states,
            reasons: [
              ...unanswered("database", database),
              ...unanswered("limit store", limitStore),
              ...unanswered("cache", cacheHealth),
              ...(isOverloaded ? ["This process is overloaded and refuses new requests."] : []),
              ...states.flatMap(troubleOf)
            ]
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

const providerHealth = (slug: string, models: ReadonlyArray<ModelHealth>): ProviderHealth => {
  const open = models.filter(({ state }) => state === "open")
  const times = models.flatMap(({ sinceMs }) => sinceMs ?? [])
  return {
    slug,
    status: open.length === 0 ? "ok" : open.length < models.length ? "degraded" : "down",
    circuit: open.length > 0 ? "open" : models.some(({ state }) => state === "half_open") ? "half_open" : "closed",
    openForMs: open.reduce<number | null>((longest, { openForMs }) => Math.max(longest ?? 0, openForMs ?? 0), null),
    sinceMs: times.length === 0 ? null : Math.min(...times),
    models
  }
}

const unanswered = (name: string, { status }: DependencyHealth): ReadonlyArray<string> =>
  status === "ok" ? [] : [`The ${name} does not answer.`]

/** Names the provider, and neither its words nor its models, because anyone may read it. */
const troubleOf = ({ models, sinceMs, slug, status }: ProviderHealth): ReadonlyArray<string> => {
  if (status === "ok") return []
  const since = sinceMs === null ? "" : ` since ${new Date(sinceMs).toISOString()}`
  const open = models.filter(({ state }) => state === "open").length
  return [
    status === "down"
      ? `The provider ${slug} gets no calls${since}.`
      : `The provider ${slug} gets no calls for ${open} of ${models.length} models${since}.`
  ]
}

const ping = (trip: Effect.Effect<void, StoreError>): Effect.Effect<DependencyHealth> =>
  Effect.gen(function* () {
    const startMs = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(Effect.timeout(trip, PING_LIMIT))
    const latencyMs = (yield* Clock.currentTimeMillis) - startMs
    return { status: Exit.isSuccess(exit) ? "ok" : "unavailable", latencyMs } satisfies DependencyHealth
  })
