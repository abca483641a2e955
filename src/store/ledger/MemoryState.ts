/** What the ledger in memory holds: what the tables hold in a database. */
import { type Generation } from "../../domain/Generation.ts"
import { type NanoUsd } from "../../domain/Money.ts"
import type { Balance, Progress, Reservation } from "./Ledger.ts"
import type { UsageDay } from "./reports/ReportMemory.ts"

/** A generation and the month that it is charged to. */
export interface Entry {
  readonly generation: Generation
  readonly month: string
}

/** `amountNano`: all that is held, `extendedNano` of it added later. */
export interface Held extends Reservation {
  readonly extendedNano: NanoUsd
  readonly leaseUntilMs: number
  readonly progress: Progress | null
}

export interface LedgerState {
  readonly reservations: Map<string, Held>
  readonly generations: Map<string, Entry>
  /** The ids of those that were archived. */
  readonly archived: Set<string>
  /** By `key month`. */
  readonly counters: Map<string, Balance>
  /** What was used by day; stays when generations go. */
  readonly usageDays: Map<string, UsageDay>
}

export const emptyState = (): LedgerState => ({
  reservations: new Map(),
  generations: new Map(),
  archived: new Set(),
  counters: new Map(),
  usageDays: new Map()
})
