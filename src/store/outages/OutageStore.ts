/**
 * The history of circuits: a row for each outage. An opening shortly after the end of an outage
 * continues it, and an outage takes new openings for an hour, so that a flapping circuit adds one
 * row an hour. The newest rows of each circuit are kept for a month.
 */
import { Context, type Effect } from "effect"
import { type Outage, type OutageCause } from "../../domain/Outage.ts"
import { type StoreError } from "../StoreError.ts"

/** An opening this long after the end of an outage continues it. */
export const CONTINUED_MS = 300_000
/** How long an outage takes new openings, from its beginning. */
export const LONGEST_FLAPPING_MS = 3_600_000
export const KEPT_MS = 30 * 86_400_000
/** The most rows of a provider and model. */
export const MOST_KEPT = 200

/** What happened to a circuit since the last record of it. */
export interface OutageChange {
  readonly provider: string
  readonly model: string | null
  /** Null: it only closed. */
  readonly opened: {
    /** The id of the outage, if it is a new one. */
    readonly id: string
    readonly atMs: number
    readonly openings: number
    readonly cause: OutageCause | null
    readonly process: string
  } | null
  /** Null: it is open. */
  readonly closedAtMs: number | null
  readonly closedBy: Outage["closedBy"]
}

export class OutageStore extends Context.Service<
  OutageStore,
  {
    /** Adds to the history of one circuit, and deletes its old rows. */
    readonly record: (change: OutageChange) => Effect.Effect<void, StoreError>
    /**
     * The newest outage of each circuit that has one, by provider and model, and how often the
     * circuit opened in the outages that began at `fromMs` or later.
     */
    readonly latest: (
      fromMs: number
    ) => Effect.Effect<ReadonlyArray<{ readonly outage: Outage; readonly openings: number }>, StoreError>
    /** The outages of a provider, newest first. */
    readonly list: (provider: string, limit: number) => Effect.Effect<ReadonlyArray<Outage>, StoreError>
  }
>()("tollgate/store/outages/OutageStore") {}

/** Whether an opening at `atMs` belongs to the outage. */
export const continues = ({ closedAtMs, openedAtMs }: Outage, atMs: number): boolean =>
  (closedAtMs === null || closedAtMs > atMs - CONTINUED_MS) && openedAtMs > atMs - LONGEST_FLAPPING_MS
