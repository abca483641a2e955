/**
 * Counts of each provider and model by minute, for half an hour. A minute counts half as much five
 * minutes later. The shared counts of all processes replace the process's own counts once they
 * include them. The caller passes the time.
 */
import { bucketOf, Histogram } from "./Histogram.ts"

export const SLOT_MS = 60_000
export const SLOTS = 30
const HALF_LIFE_SLOTS = 5
const weights = Array.from({ length: SLOTS }, (_, age) => 0.5 ** (age / HALF_LIFE_SLOTS))

export interface Quantiles {
  readonly p50: number
  readonly p99: number
}

export interface StatsSnapshot {
  /** The number of calls, weighted by age. */
  readonly calls: number
  /** 0 to 1; 1 without calls. */
  readonly successRate: number
  /** Time to the first token of a stream. */
  readonly firstTokenMs: Quantiles | null
  /** Time to the whole of a reply that is not streamed. */
  readonly wholeMs: Quantiles | null
  /** Completion tokens a second. */
  readonly throughputTps: number | null
}

/** The counters: calls, answered calls, and buckets of times and speeds. */
export type Figure = "calls" | "answered" | `first:${number}` | `whole:${number}` | `speed:${number}`
export const firstToken = (ms: number): Figure => `first:${bucketOf(ms)}`
export const wholeReply = (ms: number): Figure => `whole:${bucketOf(ms)}`
/** The resolution is a tenth of a token a second. */
export const speed = (tokensPerSecond: number): Figure => `speed:${bucketOf(tokensPerSecond * 10)}`

type Minutes = Map<number, Map<string, number>>

interface Series {
  readonly provider: string
  readonly own: Minutes
  /** Counts that are being sent, or were sent and not yet read back. */
  readonly sent: Minutes
  readonly shared: Minutes
  snapshot: { readonly value: StatsSnapshot; readonly slot: number } | null
  changes: number
}

export const slotAt = (nowMs: number): number => Math.floor(nowMs / SLOT_MS)

/** Slugs and model ids contain no spaces. */
const nameOf = (provider: string, model: string): string => `${provider} ${model}`

const add = (minutes: Minutes, slot: number, figure: string, count: number): void => {
  let counts = minutes.get(slot)
  if (counts === undefined) minutes.set(slot, (counts = new Map()))
  counts.set(figure, (counts.get(figure) ?? 0) + count)
}

export class StatsTable {
  readonly #series = new Map<string, Series>()

  count(provider: string, model: string, figure: Figure, nowMs: number, count = 1): void {
    const series = this.#seriesOf(provider, model)
    const slot = slotAt(nowMs)
    if (!series.own.has(slot)) forget(series.own, slot)
    add(series.own, slot, figure, count)
    series.changes++
  }

  /** Without `model`: over all models of the provider. */
  snapshot(provider: string, model: string | undefined, nowMs: number): StatsSnapshot {
    const slot = slotAt(nowMs)
    if (model === undefined) {
      return snapshotOf(
        Array.from(this.#series.values()).filter((series) => series.provider === provider),
        slot
      )
    }
    const series = this.#series.get(nameOf(provider, model))
    if (series === undefined) return nothing
    const { snapshot } = series
    // The sums are not computed for every request: one more call in sixteen changes little.
    if (snapshot?.slot === slot && series.changes <= snapshot.value.calls / 16) return snapshot.value
    const value = snapshotOf([series], slot)
    series.snapshot = { value, slot }
    series.changes = 0
    return value
  }

  /** Takes the process's own counts by slot, to be sent. They still count here. */
  take(): ReadonlyMap<number, ReadonlyMap<string, number>> {
    const taken: Minutes = new Map()
    for (const [name, { own, sent }] of this.#series) {
      for (const [slot, counts] of own) {
        for (const [figure, count] of counts) {
          add(taken, slot, `${name} ${figure}`, count)
          add(sent, slot, figure, count)
        }
      }
      own.clear()
    }
    return taken
  }

  /** Returns the counts of a slot that could not be sent. */
  putBack(slot: number, counts: ReadonlyMap<string, number>): void {
    for (const [name, count] of counts) {
      const [provider = "", model = "", figure = ""] = name.split(" ")
      const { own, sent } = this.#seriesOf(provider, model)
      add(sent, slot, figure, -count)
      add(own, slot, figure, count)
    }
  }

  /** Sets the shared counts of a slot. They include what this process has sent. */
  setShared(slot: number, counts: ReadonlyMap<string, number>): void {
    for (const series of this.#series.values()) {
      for (const minutes of [series.sent, series.shared]) {
        minutes.delete(slot)
        forget(minutes, slot)
      }
      series.snapshot = null
    }
    for (const [name, count] of counts) {
      const [provider = "", model = "", figure = ""] = name.split(" ")
      add(this.#seriesOf(provider, model).shared, slot, figure, count)
    }
  }

  #seriesOf(provider: string, model: string): Series {
    const name = nameOf(provider, model)
    let series = this.#series.get(name)
    if (series === undefined) {
      series = { provider, own: new Map(), sent: new Map(), shared: new Map(), snapshot: null, changes: 0 }
      this.#series.set(name, series)
    }
    return series
  }
}

const forget = (minutes: Minutes, nowSlot: number): void => {
  for (const slot of minutes.keys()) if (slot <= nowSlot - SLOTS) minutes.delete(slot)
}

const snapshotOf = (all: ReadonlyArray<Series>, nowSlot: number): StatsSnapshot => {
  const sums = { calls: 0, answered: 0 }
  const figures = { first: new Histogram(), whole: new Histogram(), speed: new Histogram() }
  for (const { own, sent, shared } of all) {
    for (const [slot, counts] of [...own, ...sent, ...shared]) {
      // Counts of a process whose clock is ahead count as current.
      const weight = weights[Math.max(0, nowSlot - slot)]
      if (weight === undefined) continue
      for (const [figure, count] of counts) {
        const [kind = "", bucket] = figure.split(":")
        if (kind === "calls" || kind === "answered") sums[kind] += count * weight
        else if (kind === "first" || kind === "whole" || kind === "speed")
          figures[kind].add(Number(bucket), count * weight)
      }
    }
  }
  const times = (histogram: Histogram): Quantiles | null => {
    const p50 = histogram.quantile(0.5)
    const p99 = histogram.quantile(0.99)
    return p50 === null || p99 === null ? null : { p50, p99 }
  }
  const tenths = figures.speed.quantile(0.5)
  return {
    calls: sums.calls,
    successRate: sums.calls <= 0 ? 1 : Math.min(1, Math.max(0, sums.answered / sums.calls)),
    firstTokenMs: times(figures.first),
    wholeMs: times(figures.whole),
    throughputTps: tenths === null ? null : tenths / 10
  }
}

const nothing: StatsSnapshot = snapshotOf([], 0)
