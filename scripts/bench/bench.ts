/**
 * A phase of the benchmark: measures several servers and returns one table, or the reason why it
 * could not.
 */
import { type Closers } from "./closers.ts"
import { type Options } from "./options.ts"
import { type Table } from "./report.ts"
import { type Server } from "./servers.ts"
import { type Load } from "./wrk.ts"

/** Shared by all phases. */
export interface Bench {
  readonly options: Options
  /** Answers with a whole completion at once. */
  readonly nginx: Server
  /** Streams 50 tokens per request, one every 20 ms. */
  readonly streaming: Server
  /** Receives each turn of a measurement, for the file of the figures. */
  readonly record: (name: string, connections: number, load: Load) => void
}

export class Skipped {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/** Registers everything that it starts with `closers`. */
export type Measure = (bench: Bench, closers: Closers) => Promise<Table | Skipped>

export interface Phase {
  readonly title: string
  /** The rows to compare: the first's figures as multiples of the second's. */
  readonly related?: readonly [of: string, to: string]
  readonly measure: Measure
}
