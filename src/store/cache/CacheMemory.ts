/** Cache entries in the memory of one process. */
import { Effect, Layer, Option } from "effect"
import { maxMemoryBytes } from "./CacheBounds.ts"
import { CacheStore } from "./CacheStore.ts"
import { CacheTable } from "./CacheTable.ts"

/**
 * Entries of this process alone: at most `maxEntries` and 256 MiB. Expired entries are evicted
 * first, then the least recently used. A call reads or writes as it is made, not when its effect
 * runs.
 */
export const layer = (options: { readonly maxEntries: number }) =>
  Layer.sync(CacheStore, () => {
    const table = new CacheTable(options.maxEntries, maxMemoryBytes)
    const get = (key: string, nowMs: number) => Effect.succeed(Option.fromUndefinedOr(table.get(key, nowMs)))
    return {
      get,
      peek: (key, nowMs) => table.get(key, nowMs),
      join: get,
      leave: () => Effect.void,
      set: (key, value, ttlMs, nowMs) => {
        table.set(key, value, ttlMs, nowMs)
        return Effect.void
      },
      size: Effect.sync(() => table.size),
      ping: Effect.void
    }
  })
