/**
 * A cache of look-ups with a short time to live. Expiry uses monotonic time, so a clock that is set
 * back does not keep an entry alive. Concurrent look-ups of one key share one call. Failures are
 * not cached.
 */
import { Cache, Clock, Duration, Effect } from "effect"

export interface LookupCache<Key, A, E> {
  readonly get: (key: Key) => Effect.Effect<A, E>
  readonly invalidate: (key: Key) => Effect.Effect<void>
  readonly invalidateAll: Effect.Effect<void>
}

interface Found<A> {
  readonly value: A
  readonly untilNanos: bigint
}

export const makeLookupCache = Effect.fnUntraced(function* <Key, A, E>(
  lookUp: (key: Key) => Effect.Effect<A, E>,
  options: { readonly capacity: number; readonly ttl: Duration.Duration }
) {
  const clock = yield* Clock.Clock
  const ttlNanos = BigInt(Duration.toMillis(options.ttl)) * 1_000_000n
  const find = (key: Key) =>
    Effect.suspend(() => {
      // Measured from before the read: a slow look-up returns old data.
      const untilNanos = clock.monotonicTimeNanosUnsafe() + ttlNanos
      return Effect.map(lookUp(key), (value): Found<A> => ({ value, untilNanos }))
    })
  const found = yield* Cache.makeWith(find, {
    capacity: options.capacity,
    timeToLive: (exit) => (exit._tag === "Success" ? Duration.infinity : Duration.zero)
  })
  const isOver = ({ untilNanos }: Found<A>) => clock.monotonicTimeNanosUnsafe() >= untilNanos

  return {
    get: (key) =>
      Effect.flatMap(Cache.get(found, key), (one) =>
        isOver(one)
          ? Effect.map(Effect.andThen(Cache.invalidateWhen(found, key, isOver), Cache.get(found, key)), valueOf)
          : Effect.succeed(one.value)
      ),
    invalidate: (key) => Cache.invalidate(found, key),
    invalidateAll: Cache.invalidateAll(found)
  } satisfies LookupCache<Key, A, E> as LookupCache<Key, A, E>
})

const valueOf = <A>({ value }: Found<A>): A => value
