/**
 * One flight for all processes: who asks for an entry that is not there is the one to make it, and what Redis keeps under
 * `tollgate:flight:` tells the others to wait for it. A flight holds for ten seconds, which is also the longest that anybody waits: a process
 * that died, or an answer that takes its time, delays nobody by more.
 */
import { Clock, Duration, Effect, Option } from "effect"
import { type Redis } from "effect/persistence"
import { randomUUID } from "node:crypto"
import { redisScript } from "../redis/RedisScript.ts"

const prefix = "tollgate:flight:"
const HOLDS_MS = 10_000
const LOOK_AGAIN = Duration.millis(50)

/** Answers the entry; else 1: the flight is the caller's, 2: somebody else's, 0: there is none. */
const joinScript = `
local entry = redis.call("GET", KEYS[1])
if entry then return entry end
if ARGV[3] == "1" and redis.call("SET", KEYS[2], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
return redis.call("EXISTS", KEYS[2]) * 2`

const leaveScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("DEL", KEYS[1]) end
return 1`

const setScript = `
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
if redis.call("GET", KEYS[2]) == ARGV[1] then redis.call("DEL", KEYS[2]) end
return 1`

/** `entryPrefix`: under which entries are kept. */
export const makeInFlightRedis = (redis: Redis.Redis["Service"], entryPrefix: string) => {
  const holder = randomUUID()
  /** Flights that are this process's, or may be. */
  const mine = new Set<string>()
  const runJoin = redisScript<string | number>(redis, joinScript)
  const runLeave = redisScript<number>(redis, leaveScript)
  const runSet = redisScript<number>(redis, setScript)

  const look = (key: string, mayTakeOff: boolean) =>
    runJoin([entryPrefix + key, prefix + key], [holder, String(HOLDS_MS), mayTakeOff ? "1" : "0"])

  return {
    /** `longestMs`: how long the caller waits for another process. */
    join: Effect.fnUntraced(function* (key: string, longestMs: number) {
      mine.add(key)
      let found = yield* look(key, true)
      if (found === 1) return Option.none<string>()
      mine.delete(key)
      const untilMs = (yield* Clock.currentTimeMillis) + Math.min(HOLDS_MS, longestMs)
      while (found === 2 && (yield* Clock.currentTimeMillis) < untilMs) {
        yield* Effect.sleep(LOOK_AGAIN)
        // Who has waited in vain asks for itself, and makes nobody wait again.
        found = yield* look(key, false)
      }
      return typeof found === "string" ? Option.some(found) : Option.none<string>()
    }),

    leave: (key: string): Effect.Effect<void> =>
      Effect.suspend(() => (mine.delete(key) ? Effect.ignore(runLeave([prefix + key], [holder])) : Effect.void)),

    /** Keeps the entry, and ends the flight with it. */
    set: (key: string, value: string, ttlMs: number): Effect.Effect<unknown, Redis.RedisError> =>
      Effect.suspend(() =>
        mine.delete(key)
          ? runSet([entryPrefix + key, prefix + key], [holder, value, String(ttlMs)])
          : redis.send("SET", entryPrefix + key, value, "PX", String(ttlMs))
      )
  }
}
