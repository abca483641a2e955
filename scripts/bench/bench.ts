/**
 * What a phase of the benchmark is: it measures some servers beside each other and answers with one
 * table, or says why it could not.
 */
import { type Closers } from "./closers.ts"
import { type Options } from "./options.ts"
import { type Table } from "./report.ts"
import { type Server } from "./servers.ts"

/** What all phases share. */
export interface Bench {
  readonly options: Options
  /** Answers whole completions at once. */
  readonly nginx: Server
  /** Streams 50 tokens to each request, one every 20 ms. */
  readonly streaming: Server
}

export class Skipped {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/** What it starts it gives to `closers`. */
export type Measure = (bench: Bench, closers: Closers) => Promise<Table | Skipped>

export interface Phase {
  readonly title: string
  /** The rows that are set in relation: the first's figures as multiples of the second's. */
  readonly related?: readonly [of: string, to: string]
  readonly measure: Measure
}
