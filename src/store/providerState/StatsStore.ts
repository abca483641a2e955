/**
 * Counts that processes gather together, slot of time by slot of time: names with whole numbers, to which anyone adds. Additions of several
 * processes never overwrite each other, and a slot goes by itself once its time is over.
 */
import { Context, type Effect } from "effect"
import { type StoreError } from "../StoreError.ts"

export type Counts = ReadonlyMap<string, number>

export class StatsStore extends Context.Service<
  StatsStore,
  {
    /** Adds to the counts of a slot, which is kept for `ttlMs` from now on. Not idempotent. */
    readonly add: (slot: number, counts: Counts, ttlMs: number) => Effect.Effect<void, StoreError>
    /** The counts of each slot; of one that there is not, none. */
    readonly read: (slots: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Counts>, StoreError>
  }
>()("tollgate/store/providerState/StatsStore") {}
