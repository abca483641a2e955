/**
 * A gauge with all its series, which are set together. A series that is no longer set is removed
 * from the registry.
 */
import { type Context, Metric } from "effect"

export interface Reading {
  readonly value: number
  readonly attributes?: Readonly<Record<string, string>>
}

export class GaugeFamily {
  readonly #make: (attributes: Readonly<Record<string, string>>) => Metric.Gauge<number>
  readonly #context: Context.Context<never>
  #series = new Map<string, Metric.Gauge<number>>()

  /** `context` provides the `MetricRegistry`. */
  constructor(context: Context.Context<never>, id: string, unit: string, description: string) {
    this.#context = context
    this.#make = (attributes) => Metric.gauge(id, { description, attributes: { ...attributes, unit } })
  }

  set(readings: ReadonlyArray<Reading>): void {
    const series = new Map<string, Metric.Gauge<number>>()
    for (const { attributes = {}, value } of readings) {
      const key = Object.values(attributes).join("\n")
      const one = this.#series.get(key) ?? this.#make(attributes)
      this.#series.delete(key)
      series.set(key, one)
      one.updateUnsafe(value, this.#context)
    }
    for (const one of this.#series.values()) Metric.removeUnsafe(one, this.#context)
    this.#series = series
  }
}
