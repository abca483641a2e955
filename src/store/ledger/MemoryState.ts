/** The contents of the ledger in memory, which correspond to the tables of the database. */
import { type Generation } from "../../domain/Generation.ts"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import type { Balance, Progress, Reservation } from "./Ledger.ts"
import type { UsageDay } from "./reports/ReportMemory.ts"

/** A generation and the month that it is charged to. */
export interface Entry {
  readonly generation: Generation
  readonly month: string
}

/** A reservation. `amountNano` is the whole amount held; `extendedNano` of it was added later. */
export interface Held extends Reservation {
  readonly extendedNano: NanoUsd
  readonly leaseUntilMs: number
  readonly progress: Progress | null
}

export interface LedgerState {
  readonly reservations: Map<string, Held>
  readonly generations: Map<string, Entry>
  /** The ids of the archived generations. */
  readonly archived: Set<string>
  /** By `key month`. */
  readonly counters: Map<string, Balance>
  /** Usage by day. It stays when generations are deleted. */
  readonly usageDays: Map<string, UsageDay>
}

export const emptyState = (): LedgerState => ({
  reservations: new Map(),
  generations: new Map(),
  archived: new Set(),
  counters: new Map(),
  usageDays: new Map()
})
