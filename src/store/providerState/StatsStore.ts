/**
 * Counts that several processes add to, in slots of time. A count has a name and is a whole number.
 * Additions of several processes never overwrite each other. A slot expires by itself.
 */
import { Context, type Effect } from "effect"
import { type StoreError } from "../StoreError.ts"

export type Counts = ReadonlyMap<string, number>

export class StatsStore extends Context.Service<
  StatsStore,
  {
    /** Adds to the counts of a slot, which expires `ttlMs` from now. Not idempotent. */
    readonly add: (slot: number, counts: Counts, ttlMs: number) => Effect.Effect<void, StoreError>
    /** The counts of each slot. An absent slot has none. */
    readonly read: (slots: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Counts>, StoreError>
  }
>()("tollgate/store/providerState/StatsStore") {}
