/**
 * The prompt cache in Redis: one string per key under `tollgate:cache:`. Redis' clock expires the
 * entries, so every `nowMs` is ignored. Entries are encrypted, and one that cannot be decrypted
 * counts as absent.
 *
 * The number of entries is counted by a bounded scan of the key space. It is exact for a small key
 * space and extrapolated from the scanned part for a large one. `DBSIZE` alone would include keys
 * of other programs in the same database.
 */
import { Effect, Option, Layer } from "effect"
import { CacheStore } from "./CacheStore.ts"
import { Redis } from "effect/persistence"
import { cachedBytes, maxEntryBytes } from "./CacheBounds.ts"
import { makeCacheSeal } from "./CacheSeal.ts"
import { makeInFlightRedis } from "./InFlightRedis.ts"
import { StoreError } from "../StoreError.ts"

const prefix = "tollgate:cache:"
const maxScanSteps = 10
const keysPerStep = 1_000

/** The service, over the `Redis` of the context. Failures are `StoreError`s of the cache. */
export const makeCacheRedis = Effect.gen(function* () {
  const redis = yield* Redis.Redis
  const inFlight = makeInFlightRedis(redis, prefix)
  const seal = yield* makeCacheSeal

  const size = Effect.gen(function* () {
    let cursor = "0"
    let found = 0
    for (let step = 1; step <= maxScanSteps; step++) {
      const [next, keys] = yield* redis.send<readonly [cursor: string, keys: ReadonlyArray<string>]>(
        "SCAN",
        cursor,
        "MATCH",
        `${prefix}*`,
        "COUNT",
        String(keysPerStep)
      )
      found += keys.length
      cursor = next
      if (cursor === "0") return found
    }
    const all = yield* redis.send<number>("DBSIZE")
    return Math.round((found / (maxScanSteps * keysPerStep)) * all)
  })

  return {
    get: (key: string): Effect.Effect<Option.Option<string>, StoreError> =>
      redis.send<string | null>("GET", prefix + key).pipe(
        Effect.mapBoth({ onFailure: unavailable, onSuccess: Option.fromNullOr }),
        Effect.flatMap((sealed) => seal.open(key, sealed))
      ),

    peek: () => undefined,

    join: (key: string, _nowMs: number, longestMs: number): Effect.Effect<Option.Option<string>, StoreError> =>
      Effect.matchEffect(inFlight.join(key, longestMs), {
        onFailure: (error) => Effect.fail(unavailable(error)),
        onSuccess: (sealed) => seal.open(key, sealed)
      }),

    leave: inFlight.leave,

    set: (key: string, value: string, ttlMs: number): Effect.Effect<void, StoreError> =>
      ttlMs <= 0 || cachedBytes(key, value) > maxEntryBytes
        ? Effect.asVoid(Effect.mapError(redis.send("DEL", prefix + key), unavailable))
        : Effect.flatMapEager(seal.close(key, value), (sealed) =>
            Effect.mapBoth(inFlight.set(key, sealed, Math.ceil(ttlMs)), {
              onFailure: unavailable,
              onSuccess: () => undefined
            })
          ),

    size: size.pipe(Effect.mapError(unavailable)),

    ping: redis.send("PING").pipe(Effect.mapError(unavailable), Effect.asVoid)
  }
})

const unavailable = (error: Redis.RedisError): StoreError => new StoreError({ dependency: "cache", cause: error.cause })

/**
 * Entries shared by all processes, encrypted with a key of their SecretStore. They are bounded by
 * their time to live and by Redis' own `maxmemory` policy.
 */
export const layer = Layer.effect(CacheStore, makeCacheRedis)
