/**
 * A short-lived cache of API key look-ups. Known keys and unknown ids are stored separately, so
 * made-up ids never evict a key. A look-up that began before its key was invalidated is not stored.
 * Expiry uses monotonic time, so a clock that is set back does not keep a revoked key alive.
 */
import { Cache, Clock, Duration, Effect, Option } from "effect"
import { type StoreError } from "../../store/StoreError.ts"
import { type Caller } from "../request/Caller.ts"

const TTL_MS = 1_000
const TTL_NANOS = 1_000_000_000n
const MAX_KEYS = 10_000
const MAX_UNKNOWN_IDS = 1_000

type Found = Option.Option<Caller>

export interface KeyCache {
  readonly get: (publicId: string) => Effect.Effect<Found, StoreError>
  readonly invalidate: (publicId: string) => Effect.Effect<void>
  readonly invalidateAll: Effect.Effect<void>
}

export const makeKeyCache = (find: (publicId: string) => Effect.Effect<Found, StoreError>) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    /** In insertion order, oldest first. */
    const known = new Map<string, { readonly found: Effect.Effect<Found>; readonly untilNanos: bigint }>()
    let invalidations = 0

    const add = (publicId: string, found: Found, untilNanos: bigint) => {
      known.delete(publicId)
      known.set(publicId, { found: Effect.succeed(found), untilNanos })
      const [oldest] = known.size > MAX_KEYS ? known.keys() : []
      if (oldest !== undefined) known.delete(oldest)
    }

    const lookUp = Effect.fnUntraced(function* (publicId: string) {
      const before = invalidations
      // Measured from before the read: a slow look-up returns old data.
      const untilNanos = clock.monotonicTimeNanosUnsafe() + TTL_NANOS
      const found = yield* find(publicId)
      if (Option.isSome(found) && before === invalidations) add(publicId, found, untilNanos)
      return found
    })

    /** Look-ups in flight, shared by concurrent requests, and unknown ids. */
    const others = yield* Cache.makeWith(lookUp, {
      capacity: MAX_UNKNOWN_IDS,
      timeToLive: (exit) => (exit._tag === "Success" && Option.isNone(exit.value) ? TTL_MS : Duration.zero)
    })

    return {
      get: (publicId) => {
        const cached = known.get(publicId)
        return cached !== undefined && clock.monotonicTimeNanosUnsafe() < cached.untilNanos
          ? cached.found
          : Cache.get(others, publicId)
      },
      invalidate: (publicId) =>
        Effect.suspend(() => {
          invalidations++
          known.delete(publicId)
          return Cache.invalidate(others, publicId)
        }),
      invalidateAll: Effect.suspend(() => {
        invalidations++
        known.clear()
        return Cache.invalidateAll(others)
      })
    } satisfies KeyCache
  })
