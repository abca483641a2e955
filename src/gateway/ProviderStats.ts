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

class Figures {
  readonly calls = new Ring<CallSample>()
  readonly speeds = new Ring<number>()
}

const quantile = (sorted: ReadonlyArray<number>, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0

const snapshotOf = (figures: ReadonlyArray<Figures>): StatsSnapshot => {
  const samples = figures.flatMap((entry) => entry.calls.values)
  const answered = samples.filter((sample) => sample.ok)
  const latencies = answered.map((sample) => sample.latencyMs).sort((a, b) => a - b)
  const speeds = figures.flatMap((entry) => entry.speeds.values).sort((a, b) => a - b)
  return {
    calls: samples.length,
    successRate: samples.length === 0 ? 1 : answered.length / samples.length,
    latencyMs: latencies.length === 0 ? null : { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) },
    throughputTps: speeds.length === 0 ? null : quantile(speeds, 0.5)
  }
}

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
      record: (provider, model, sample) => Effect.sync(() => figuresOf(provider, model).calls.push(sample)),
      recordSpeed: (provider, model, tokensPerSecond) =>
        Effect.sync(() => figuresOf(provider, model).speeds.push(tokensPerSecond)),
      snapshot: (provider, model) => {
        const models = byProvider.get(provider)
        if (models === undefined) return snapshotOf([])
        if (model === undefined) return snapshotOf(Array.from(models.values()))
        const figures = models.get(model)
        return snapshotOf(figures === undefined ? [] : [figures])
      }
    }
  })
}
