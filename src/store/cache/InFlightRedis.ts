/**
 * Coalesces requests in flight across processes. The first process that asks for an absent entry
 * becomes its leader, and a lock in Redis under `tollgate:flight:` makes the others wait for the
 * entry. The lock lasts ten seconds, which also bounds the wait: a leader that died, or a slow
 * reply, delays the others by no more than that.
 */
import { Clock, Duration, Effect, Option } from "effect"
import { type Redis } from "effect/persistence"
import { randomUUID } from "node:crypto"
import { redisScript } from "../redis/RedisScript.ts"

const prefix = "tollgate:flight:"
const LOCK_MS = 10_000
const POLL_INTERVAL = Duration.millis(50)

/**
 * Returns the entry if there is one. Else 1: the caller leads; 2: another caller leads; 0: there is
 * no leader.
 */
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

/**
 * `entryPrefix`: the prefix of the keys that hold entries. The calls begin as they are made, so run
 * their effects at once, and once.
 */
export const makeInFlightRedis = (redis: Redis.Redis["Service"], entryPrefix: string) => {
  const holder = randomUUID()
  /** Keys that this process leads, or may lead while the reply is pending. */
  const led = new Set<string>()
  const runJoin = redisScript<string | number>(redis, joinScript)
  const runLeave = redisScript<number>(redis, leaveScript)
  const runSet = redisScript<number>(redis, setScript)

  const look = (key: string, mayLead: boolean) =>
    runJoin([entryPrefix + key, prefix + key], [holder, String(LOCK_MS), mayLead ? "1" : "0"])

  /** Waits for the entry of another process. */
  const waited = Effect.fnUntraced(function* (key: string, longestMs: number) {
    const untilMs = (yield* Clock.currentTimeMillis) + Math.min(LOCK_MS, longestMs)
    let found: string | number = 2
    while (found === 2 && (yield* Clock.currentTimeMillis) < untilMs) {
      yield* Effect.sleep(POLL_INTERVAL)
      // A caller that waited in vain makes its own call and does not become the leader, so that the
      // others do not wait again.
      found = yield* look(key, false)
    }
    return entryIn(found)
  })

  return {
    /** `longestMs`: how long the caller waits for another process. */
    join: (key: string, longestMs: number): Effect.Effect<Option.Option<string>, Redis.RedisError> => {
      led.add(key)
      return Effect.flatMap(look(key, true), (found) => {
        if (found === 1) return Effect.succeedNone
        led.delete(key)
        return found === 2 ? waited(key, longestMs) : Effect.succeed(entryIn(found))
      })
    },

    leave: (key: string): Effect.Effect<void> =>
      led.delete(key) ? Effect.ignore(runLeave([prefix + key], [holder])) : Effect.void,

    /** Stores the entry and removes the lock in one step. */
    set: (key: string, value: string, ttlMs: number): Effect.Effect<unknown, Redis.RedisError> =>
      led.delete(key)
        ? runSet([entryPrefix + key, prefix + key], [holder, value, String(ttlMs)])
        : redis.send("SET", entryPrefix + key, value, "PX", String(ttlMs))
  }
}

const entryIn = (found: string | number): Option.Option<string> =>
  typeof found === "string" ? Option.some(found) : Option.none()
