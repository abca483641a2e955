/**
 * What was looked up of API keys, for a moment. Keys that exist and ids that nobody has are remembered apart: whoever sends made-up ids
 * pushes out no key. What was looked up before a key was forgotten is not remembered after it. Keys are remembered by monotonic time: a
 * machine's clock that is set back keeps no revoked key alive.
 */
import { Cache, Clock, Duration, Effect, Option } from "effect"
import { type StoreError } from "../../store/StoreError.ts"
import { type Caller } from "../request/Order.ts"

const LIFE_MS = 1_000
const LIFE_NANOS = 1_000_000_000n
const KEYS = 10_000
const UNKNOWN_IDS = 1_000

type Found = Option.Option<Caller>

export interface KeyCache {
  readonly get: (publicId: string) => Effect.Effect<Found, StoreError>
  readonly forget: (publicId: string) => Effect.Effect<void>
  readonly forgetAll: Effect.Effect<void>
}

export const makeKeyCache = (find: (publicId: string) => Effect.Effect<Found, StoreError>) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    /** The oldest first. */
    const known = new Map<string, { readonly found: Found; readonly untilNanos: bigint }>()
    let forgets = 0

    const remember = (publicId: string, found: Found, untilNanos: bigint) => {
      known.delete(publicId)
      known.set(publicId, { found, untilNanos })
      const [oldest] = known.size > KEYS ? known.keys() : []
      if (oldest !== undefined) known.delete(oldest)
    }

    const look = Effect.fnUntraced(function* (publicId: string) {
      const before = forgets
      // From before it is read: a slow look-up brings what was.
      const untilNanos = clock.monotonicTimeNanosUnsafe() + LIFE_NANOS
      const found = yield* find(publicId)
      if (Option.isSome(found) && before === forgets) remember(publicId, found, untilNanos)
      return found
    })

    /** Look-ups under way, which requests at once share, and ids that nobody has. */
    const others = yield* Cache.makeWith(look, {
      capacity: UNKNOWN_IDS,
      timeToLive: (exit) => (exit._tag === "Success" && Option.isNone(exit.value) ? LIFE_MS : Duration.zero)
    })

    return {
      get: (publicId) => {
        const kept = known.get(publicId)
        return kept !== undefined && clock.monotonicTimeNanosUnsafe() < kept.untilNanos
          ? Effect.succeed(kept.found)
          : Cache.get(others, publicId)
      },
      forget: (publicId) =>
        Effect.suspend(() => {
          forgets++
          known.delete(publicId)
          return Cache.invalidate(others, publicId)
        }),
      forgetAll: Effect.suspend(() => {
        forgets++
        known.clear()
        return Cache.invalidateAll(others)
      })
    } satisfies KeyCache
  })
