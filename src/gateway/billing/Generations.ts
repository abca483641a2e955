/**
 * Reads generations: a key its own, a user those of their keys, an admin all. A read of a running
 * generation waits a moment for its end. A read of one whose lease has expired settles it first.
 * One fiber polls for all requests that wait for the same generation.
 */
import { Clock, Context, Duration, Effect, Fiber, Layer, Option, RcMap, Schedule } from "effect"
import {
  DependencyUnavailable,
  gatewayError,
  type GatewayError,
  GenerationRunning,
  NotFound
} from "../../domain/Errors.ts"
import { isId } from "../../domain/Ids.ts"
import { DAY_MS } from "../../domain/pricing/Money.ts"
import { type Generation } from "../../domain/Generation.ts"
import { Ledger } from "../../store/ledger/Ledger.ts"
import { type GenerationPage, GenerationStore } from "../../store/ledger/GenerationStore.ts"
import { type StoreError } from "../../store/StoreError.ts"

export interface GenerationFilter {
  readonly limit: number
  readonly cursor: string | null
  readonly fromMs?: number
  readonly toMs?: number
  readonly model?: string
  readonly provider?: string
  /** Only generations of this user's keys. */
  readonly ownerId?: string
  /** An error type, `any` for every failure, or `none` for generations that did not fail. */
  readonly error?: string
}

export type GenerationList = GenerationPage

/** The polling interval of a running generation. */
const POLL_INTERVAL = Duration.millis(200)
const LONGEST_WAIT = Duration.seconds(2)
const RETRY_AFTER_MS = 2_000
const RECONCILE_EVERY_MS = 30_000
const POLLS_PER_LEASE = 5

export class Generations extends Context.Service<
  Generations,
  {
    /** Without a key and an owner, any generation. */
    readonly get: (id: string, keyId: string | null, ownerId?: string) => Effect.Effect<Generation, GatewayError>
    /** Without a key, the generations of all keys. */
    readonly list: (keyId: string | null, filter: GenerationFilter) => Effect.Effect<GenerationPage, GatewayError>
  }
>()("tollgate/gateway/billing/Generations") {
  /**
   * `retentionDays`: older generations are not shown, even while the archive still holds their
   * month. Null: they are kept for ever.
   */
  static readonly layer = ({ retentionDays }: { readonly retentionDays: number | null }) =>
    Layer.effect(
      Generations,
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generations = yield* GenerationStore
        /** The earliest start of a generation that may be read. */
        const oldestMs = (nowMs: number) => (retentionDays === null ? -Infinity : nowMs - retentionDays * DAY_MS)

        /** The generation, or null while it is running. */
        const look = Effect.fnUntraced(function* (id: string, keyId: string | null, ownerId: string | null) {
          const find = orUnavailable(generations.find(id, keyId, ownerId))
          let found = yield* find
          if (Option.exists(found, (state) => state._tag === "Pending" && state.isOver)) {
            // Zero means that another process is settling it.
            if ((yield* orUnavailable(ledger.settleExpired)) > 0) found = yield* find
          }
          if (Option.isNone(found)) return yield* gatewayError(new NotFound({ what: "generation", id }))
          return found.value._tag === "Settled" ? found.value.generation : null
        })

        /** `look` has checked that the caller may see the generation. */
        const watchers = yield* RcMap.make({
          lookup: (id: string) =>
            Effect.forkScoped(
              Effect.repeat(Effect.delay(look(id, null, null), POLL_INTERVAL), { until: (found) => found !== null })
            )
        })

        const get = Effect.fn("Generations.get")(function* (
          id: string,
          keyId: string | null,
          ownerId: string | null = null
        ) {
          if (!isId("gen", id)) return yield* gatewayError(new NotFound({ what: "generation", id }))
          const found =
            (yield* look(id, keyId, ownerId)) ??
            (yield* Effect.flatMap(RcMap.get(watchers, id), Fiber.join).pipe(
              Effect.scoped,
              Effect.timeoutOrElse({ duration: LONGEST_WAIT, orElse: () => Effect.succeed(null) })
            ))
          if (found === null) return yield* gatewayError(new GenerationRunning({ retryAfterMs: RETRY_AFTER_MS }))
          if (found.createdAtMs >= oldestMs(yield* Clock.currentTimeMillis)) return found
          return yield* gatewayError(new NotFound({ what: "generation", id }))
        })

        return Generations.of({
          get,
          list: (keyId, filter) =>
            Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
              const fromMs = Math.max(oldestMs(nowMs), filter.fromMs ?? -Infinity)
              return orUnavailable(generations.list({ keyId, ...filter, ...(fromMs === -Infinity ? {} : { fromMs }) }))
            })
        })
      })
    )

  /**
   * Settles the reservations of processes that have ended, now and every 30 s, or five times a
   * lease if that is more often. Any number of processes may run it; the store lets one work at a
   * time.
   */
  static readonly layerReconciler = ({ leaseMs }: { readonly leaseMs: number }) =>
    Layer.effectDiscard(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const reconcile = Effect.gen(function* () {
          const settled = yield* ledger.settleExpired
          if (settled > 0)
            yield* Effect.logWarning(
              `settled ${settled} expired reservation(s) of ended processes, at the estimated cost`
            )
        })
        const every = Duration.millis(Math.min(RECONCILE_EVERY_MS, leaseMs / POLLS_PER_LEASE))
        yield* Effect.forkScoped(Effect.repeat(Effect.ignore(reconcile), Schedule.spaced(every)))
      })
    )
}

const orUnavailable = <A, R>(self: Effect.Effect<A, StoreError, R>): Effect.Effect<A, GatewayError, R> =>
  Effect.mapError(self, (error) => gatewayError(new DependencyUnavailable({ dependency: error.dependency })))
