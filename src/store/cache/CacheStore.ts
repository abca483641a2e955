/**
 * A bounded store of strings with a time to live, which holds the entries of the prompt cache. It
 * may drop an entry at any time.
 */
import { Context, type Effect, type Option } from "effect"
import { type StoreError } from "../StoreError.ts"

export class CacheStore extends Context.Service<
  CacheStore,
  {
    readonly get: (key: string, nowMs: number) => Effect.Effect<Option.Option<string>, StoreError>
    /** The result of `get` when it can be had synchronously, from memory; else undefined. */
    readonly peek: (key: string, nowMs: number) => string | undefined
    /**
     * Like `get`, for a caller that will create the entry when it is absent. Until that caller sets
     * or leaves the entry, other processes that join wait for it, for `longestMs` and at most ten
     * seconds. Callers of one process are expected to coalesce before they join.
     */
    readonly join: (key: string, nowMs: number, longestMs: number) => Effect.Effect<Option.Option<string>, StoreError>
    /** Ends the wait of processes that joined. Does nothing unless they waited for this process. */
    readonly leave: (key: string) => Effect.Effect<void>
    /**
     * Entries above 2 MiB and entries without a time to live are not stored. The previous value of
     * the key is removed in any case.
     */
    readonly set: (key: string, value: string, ttlMs: number, nowMs: number) => Effect.Effect<void, StoreError>
    /** Number of entries, for the operator. May be approximate. */
    readonly size: Effect.Effect<number, StoreError>
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/cache/CacheStore") {}
