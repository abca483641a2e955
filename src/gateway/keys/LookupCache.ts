/**
 * Look-ups whose results are kept for a short time. The time is monotonic: a machine's clock that is set back keeps nothing alive. Those who
 * ask for the same at once wait for one look-up; a failure is not kept.
 */
import { Cache, Clock, Duration, Effect } from "effect"

export interface LookupCache<Key, A, E> {
  readonly get: (key: Key) => Effect.Effect<A, E>
  readonly forget: (key: Key) => Effect.Effect<void>
  readonly forgetAll: Effect.Effect<void>
}

interface Found<A> {
  readonly value: A
  readonly untilNanos: bigint
}

export const makeLookupCache = Effect.fnUntraced(function* <Key, A, E>(
  look: (key: Key) => Effect.Effect<A, E>,
  options: { readonly capacity: number; readonly kept: Duration.Duration }
) {
  const clock = yield* Clock.Clock
  const keptNanos = BigInt(Duration.toMillis(options.kept)) * 1_000_000n
  const find = (key: Key) =>
    Effect.suspend(() => {
      // From before it is read: a slow look-up brings what was.
      const untilNanos = clock.monotonicTimeNanosUnsafe() + keptNanos
      return Effect.map(look(key), (value): Found<A> => ({ value, untilNanos }))
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
    forget: (key) => Cache.invalidate(found, key),
    forgetAll: Cache.invalidateAll(found)
  } satisfies LookupCache<Key, A, E> as LookupCache<Key, A, E>
})

const valueOf = <A>({ value }: Found<A>): A => value
