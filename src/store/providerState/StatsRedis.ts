/**
 * Counts in Redis: one hash per slot under `tollgate:stats:`. Additions are atomic, and Redis
 * expires the slots.
 */
import { Effect, Layer } from "effect"
import { StatsStore } from "./StatsStore.ts"
import { Redis } from "effect/persistence"
import { redisScript } from "../redis/RedisScript.ts"
import { StoreError } from "../StoreError.ts"

const prefix = "tollgate:stats:"
/** Names per script call. Redis serves no other command during a call. */
const NAMES_PER_CALL = 500

const addScript = `
for at = 2, #ARGV, 2 do redis.call("HINCRBY", KEYS[1], ARGV[at], ARGV[at + 1]) end
redis.call("PEXPIRE", KEYS[1], ARGV[1])
return 1`

const readScript = `
local slots = {}
for at = 1, #KEYS do slots[at] = redis.call("HGETALL", KEYS[at]) end
return slots`

/** Over the `Redis` of the context. Failures are `StoreError`s of the limit store. */
export const makeStatsRedis = Effect.gen(function* () {
  const redis = yield* Redis.Redis
  const runAdd = redisScript<number>(redis, addScript)
  const runRead = redisScript<ReadonlyArray<ReadonlyArray<string>>>(redis, readScript)

  return {
    add: (slot: number, counts: ReadonlyMap<string, number>, ttlMs: number): Effect.Effect<void, StoreError> => {
      const entries = Array.from(counts)
      const calls = Array.from({ length: Math.ceil(entries.length / NAMES_PER_CALL) }, (_, call) =>
        entries.slice(call * NAMES_PER_CALL, (call + 1) * NAMES_PER_CALL)
      )
      return Effect.forEach(
        calls,
        (call) =>
          runAdd(
            [prefix + slot],
            [String(Math.ceil(ttlMs)), ...call.flatMap(([name, count]) => [name, String(count)])]
          ),
        { discard: true }
      ).pipe(Effect.mapError(unavailable))
    },

    read: (slots: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<ReadonlyMap<string, number>>, StoreError> =>
      slots.length === 0
        ? Effect.succeed([])
        : runRead(
            slots.map((slot) => prefix + slot),
            []
          ).pipe(Effect.mapBoth({ onFailure: unavailable, onSuccess: (hashes) => hashes.map(countsOf) }))
  }
})

/** Redis lists a hash as name, value, name, value. */
const countsOf = (listed: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (let at = 0; at + 1 < listed.length; at += 2) counts.set(listed[at] ?? "", Number(listed[at + 1]))
  return counts
}

const unavailable = (error: Redis.RedisError): StoreError =>
  new StoreError({ dependency: "limit_store", cause: error.cause })

/** Shared by all processes on one Redis. */
export const layer = Layer.effect(StatsStore, makeStatsRedis)
