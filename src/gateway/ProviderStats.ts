/**
 * What the gateway has seen of each provider and model lately: outcomes, times to first token and speeds of the last 256 calls.
 * Routing by latency and throughput, the model list, health and the overview read it. It lives in memory: a restart forgets.
 */
import { Context, Effect, Layer } from "effect"

const WINDOW = 256

export interface CallSample {
  readonly ok: boolean
  /** Time to the first token of a stream, or to the whole reply otherwise. */
  readonly latencyMs: number
}

export interface StatsSnapshot {
  readonly calls: number
  /** 0 to 1; 1 when there were no calls. */
  readonly successRate: number
  readonly latencyMs: { readonly p50: number; readonly p99: number } | null
  readonly throughputTps: number | null
}

/** The last `WINDOW` values, the oldest overwritten. */
class Ring<A> {
  readonly values: Array<A> = []
  #next = 0
  push(value: A): void {
    this.values[this.#next] = value
    this.#next = (this.#next + 1) % WINDOW
  }
}

const quantile = (sorted: ReadonlyArray<number>, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0

class Figures {
  readonly calls = new Ring<CallSample>()
  readonly speeds = new Ring<number>()
  #snapshot: StatsSnapshot | null = null
  #age = 0

  changed(): void {
    this.#age++
  }

  /** Sorting is not done for every request: a full window is looked at anew every sixteenth call. */
  snapshot(): StatsSnapshot {
    if (this.#snapshot === null || this.#age > this.calls.values.length / 16) {
      this.#snapshot = snapshotOf([this])
      this.#age = 0
    }
    return this.#snapshot
  }
}

const snapshotOf = (figures: ReadonlyArray<Figures>): StatsSnapshot => {
  const samples = figures.flatMap((entry) => entry.calls.values)
  const answered = samples.filter((sample) => sample.ok)
  const latencies = answered.map((sample) => sample.latencyMs).sort((x, y) => x - y)
  const speeds = figures.flatMap((entry) => entry.speeds.values).sort((x, y) => x - y)
  return {
    calls: samples.length,
    successRate: samples.length === 0 ? 1 : answered.length / samples.length,
    latencyMs: latencies.length === 0 ? null : { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) },
    throughputTps: speeds.length === 0 ? null : quantile(speeds, 0.5)
  }
}

const noFigures: StatsSnapshot = snapshotOf([])

export class ProviderStats extends Context.Service<
  ProviderStats,
  {
    readonly record: (provider: string, model: string, sample: CallSample) => Effect.Effect<void>
    /** The speed of a finished stream, in completion tokens a second. */
    readonly recordSpeed: (provider: string, model: string, tokensPerSecond: number) => Effect.Effect<void>
    /** Without `model`: over all the models of the provider. */
    readonly snapshot: (provider: string, model?: string) => StatsSnapshot
  }
>()("tollgate/gateway/ProviderStats") {
  static readonly layer = Layer.sync(ProviderStats, () => {
    const byProvider = new Map<string, Map<string, Figures>>()
    const figuresOf = (provider: string, model: string): Figures => {
      let models = byProvider.get(provider)
      if (models === undefined) byProvider.set(provider, (models = new Map()))
      let figures = models.get(model)
      if (figures === undefined) models.set(model, (figures = new Figures()))
      return figures
    }
    return {
      record: (provider, model, sample) =>
        Effect.sync(() => {
          const figures = figuresOf(provider, model)
          figures.calls.push(sample)
          figures.changed()
        }),
      recordSpeed: (provider, model, tokensPerSecond) =>
        Effect.sync(() => {
          const figures = figuresOf(provider, model)
          figures.speeds.push(tokensPerSecond)
          figures.changed()
        }),
      snapshot: (provider, model) => {
        const models = byProvider.get(provider)
        if (models === undefined) return noFigures
        if (model === undefined) return snapshotOf(Array.from(models.values()))
        return models.get(model)?.snapshot() ?? noFigures
      }
    }
  })
}
