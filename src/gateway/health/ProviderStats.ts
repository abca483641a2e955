/**
 * Recent measurements of each provider and model: outcomes, times to the first token and speeds,
 * where older ones count less. Routing by latency and throughput, the model list, health and the
 * overview read them. Processes with a shared store see the same figures a few seconds late; while
 * the store is away, each sees its own. Figures are dropped after half an hour.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { StatsStore } from "../../store/providerState/StatsStore.ts"
import {
  type Figure,
  firstToken,
  SLOT_MS,
  slotAt,
  SLOTS,
  speed,
  type StatsSnapshot,
  StatsTable,
  wholeReply
} from "./StatsTable.ts"

export interface CallSample {
  /** Whether the provider did its part. A client's error is not the provider's fault. */
  readonly ok: boolean
  /**
   * Time to the first token of a stream, or to the whole reply; null: there was no answer to time.
   */
  readonly latencyMs: number | null
  readonly streamed: boolean
}

/** How late the figures of other processes may be. */
const SYNC_EVERY = "2 seconds"

export class ProviderStats extends Context.Service<
  ProviderStats,
  {
    readonly record: (provider: string, model: string, sample: CallSample) => void
    /** A stream that was recorded with its first token broke off and counts as not answered. */
    readonly recordBreak: (provider: string, model: string) => void
    /** Completion tokens a second of a complete answer. */
    readonly recordSpeed: (provider: string, model: string, tokensPerSecond: number) => void
    /** Without `model`: over all models of the provider. */
    readonly snapshot: (provider: string, model?: string) => StatsSnapshot
  }
>()("tollgate/gateway/health/ProviderStats") {
  /** The measurements of this process. */
  static readonly layer = Layer.effect(
    ProviderStats,
    Effect.map(Clock.Clock, (clock) => over(new StatsTable(), clock))
  )

  /** The measurements of all processes on one store. */
  static readonly layerShared = Layer.effect(
    ProviderStats,
    Effect.gen(function* () {
      const store = yield* StatsStore
      const clock = yield* Clock.Clock
      const table = new StatsTable()

      const publish = Effect.suspend(() =>
        Effect.forEach(
          table.take(),
          ([slot, counts]) =>
            store.add(slot, counts, SLOTS * SLOT_MS).pipe(
              Effect.onError(() => Effect.sync(() => table.putBack(slot, counts))),
              Effect.ignore
            ),
          { discard: true }
        )
      )
      const learn = (slots: ReadonlyArray<number>) =>
        Effect.map(store.read(slots), (found) => {
          for (const [at, slot] of slots.entries()) table.setShared(slot, found[at] ?? new Map())
        })
      /** Earlier minutes no longer change. */
      const learnLatest = Effect.suspend(() => {
        const slot = slotAt(clock.currentTimeMillisUnsafe())
        return learn([slot - 2, slot - 1, slot])
      })
      const now = slotAt(clock.currentTimeMillisUnsafe())
      yield* Effect.ignore(learn(Array.from({ length: SLOTS }, (_, age) => now - age)))
      yield* Effect.andThen(publish, learnLatest).pipe(
        Effect.catch((error) => Effect.logDebug(`provider statistics are not shared at the moment: ${error.message}`)),
        Effect.repeat(Schedule.spaced(SYNC_EVERY)),
        Effect.forkScoped
      )
      yield* Effect.addFinalizer(() => Effect.ignore(publish))
      return over(table, clock)
    })
  )
}

const over = (table: StatsTable, clock: Clock.Clock): ProviderStats["Service"] => {
  const count = (provider: string, model: string, figure: Figure, by?: number) =>
    table.count(provider, model, figure, clock.currentTimeMillisUnsafe(), by)
  return {
    record: (provider, model, { latencyMs, ok, streamed }) => {
      count(provider, model, "calls")
      if (ok) count(provider, model, "answered")
      if (ok && latencyMs !== null) count(provider, model, streamed ? firstToken(latencyMs) : wholeReply(latencyMs))
    },
    recordBreak: (provider, model) => count(provider, model, "answered", -1),
    recordSpeed: (provider, model, tokensPerSecond) => count(provider, model, speed(tokensPerSecond)),
    snapshot: (provider, model) => table.snapshot(provider, model, clock.currentTimeMillisUnsafe())
  }
}
