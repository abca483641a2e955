/** A bounded store of strings with a time to live: what the prompt cache keeps its entries in. It may forget anything at any time. */
import { Context, Effect, Layer, Option } from "effect"
import { maxMemoryBytes } from "./CacheBounds.ts"
import { makeCacheRedis } from "./CacheRedis.ts"
import { CacheTable } from "./CacheTable.ts"
import { type StoreError } from "../StoreError.ts"

export class CacheStore extends Context.Service<
  CacheStore,
  {
    readonly get: (key: string, nowMs: number) => Effect.Effect<Option.Option<string>, StoreError>
    /** What `get` would answer, where that needs nobody to be asked; else undefined. */
    readonly peek: (key: string, nowMs: number) => string | undefined
    /**
     * The same as `get` for somebody who will make the entry if there is none. Until that one sets or leaves it, others that join from
     * other processes wait for it, for `longestMs` and for ten seconds at most; within a process nobody waits.
     */
    readonly join: (key: string, nowMs: number, longestMs: number) => Effect.Effect<Option.Option<string>, StoreError>
    /** Ends the wait of those that have joined, if it was for this process; where it was not, it does nothing. */
    readonly leave: (key: string) => Effect.Effect<void>
    /** Entries above 2 MiB and those without a time to live are not kept; what the key held before goes all the same. */
    readonly set: (key: string, value: string, ttlMs: number, nowMs: number) => Effect.Effect<void, StoreError>
    /** How many entries there are, for the operator; may be approximate. */
    readonly size: Effect.Effect<number, StoreError>
    readonly ping: Effect.Effect<void, StoreError>
  }
>()("tollgate/store/cache/CacheStore") {
  /** Entries of this process alone: at most `maxEntries`, at most 256 MiB; expired ones go first, then the least recently used. */
  static readonly layerMemory = (options: { readonly maxEntries: number }) =>
    Layer.sync(CacheStore, () => {
      const table = new CacheTable(options.maxEntries, maxMemoryBytes)
      const get = (key: string, nowMs: number) => Effect.sync(() => Option.fromUndefinedOr(table.get(key, nowMs)))
      return {
        get,
        peek: (key, nowMs) => table.get(key, nowMs),
        join: get,
        leave: () => Effect.void,
        set: (key, value, ttlMs, nowMs) => Effect.sync(() => table.set(key, value, ttlMs, nowMs)),
        size: Effect.sync(() => table.size),
        ping: Effect.void
      }
    })

  /** Entries that all processes share, sealed with a key of their vault, bounded by their time to live and by Redis' own `maxmemory` policy. */
  static readonly layerRedis = Layer.effect(CacheStore, makeCacheRedis)
}
