/**
 * Lockouts: names of providers or keys that may not be called for a while. A name stays recorded
 * until it is lifted. After its time is over, one caller at a time may try it. Processes that share
 * a store share its lockouts.
 */
import { Context, type Effect } from "effect"
import { type StoreError } from "../StoreError.ts"

export class LockoutStore extends Context.Service<
  LockoutStore,
  {
    /**
     * Locks `name` for `ms` from now on. True if the name is new: never locked, or lifted since.
     * With 0 it is only recorded.
     */
    readonly close: (name: string, ms: number) => Effect.Effect<boolean, StoreError>
    /**
     * The longest remaining lockout of `names`, in milliseconds. 0: the caller may try. In that
     * case those of the names that are still recorded are locked for everyone else for `holdMs`.
     */
    readonly claim: (names: ReadonlyArray<string>, holdMs: number) => Effect.Effect<number, StoreError>
    readonly lift: (names: ReadonlyArray<string>) => Effect.Effect<void, StoreError>
    /** Every recorded name and its remaining milliseconds. 0: it may be claimed. */
    readonly all: Effect.Effect<ReadonlyMap<string, number>, StoreError>
  }
>()("tollgate/store/providerState/LockoutStore") {}
