/**
 * Lockouts in Redis: one hash, `tollgate:lockouts`, maps each name to the end of its lockout. Times
 * are those of Redis's clock, so the clocks of the processes need not agree. Each change is one
 * atomic step. An hour after the last lockout began, Redis deletes all of them.
 */
import { Effect, Layer } from "effect"
import { Redis } from "effect/persistence"
import { redisScript } from "../redis/RedisScript.ts"
import { StoreError } from "../StoreError.ts"
import { LockoutStore } from "./LockoutStore.ts"

const key = "tollgate:lockouts"
const KEPT_MS = 3_600_000

const nowLua = `
local time = redis.call("TIME")
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function at(ms) return string.format("%.0f", now + tonumber(ms)) end`

/** Arguments: the name, its milliseconds, those of the hash. Returns 1 if the name is new. */
const closeScript = `${nowLua}
local isNew = redis.call("HSET", KEYS[1], ARGV[1], at(ARGV[2]))
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return isNew`

/** Arguments: the milliseconds to hold, then the names. Returns the longest that is left. */
const claimScript = `${nowLua}
local left = 0
local recorded = {}
for i = 2, #ARGV do
  local till = redis.call("HGET", KEYS[1], ARGV[i])
  if till then
    recorded[#recorded + 1] = ARGV[i]
    left = math.max(left, tonumber(till) - now)
  end
end
if left > 0 then return left end
for i = 1, #recorded do redis.call("HSET", KEYS[1], recorded[i], at(ARGV[1])) end
return 0`

/** Returns name, milliseconds left, name, milliseconds left. */
const allScript = `${nowLua}
local listed = redis.call("HGETALL", KEYS[1])
for i = 2, #listed, 2 do listed[i] = math.max(0, tonumber(listed[i]) - now) end
return listed`

/** Over the `Redis` of the context. Failures are `StoreError`s of the limit store. */
const makeLockoutRedis = Effect.gen(function* () {
  const redis = yield* Redis.Redis
  const runClose = redisScript<number>(redis, closeScript)
  const runClaim = redisScript<number>(redis, claimScript)
  const runAll = redisScript<ReadonlyArray<string | number>>(redis, allScript)
  const whole = (ms: number) => String(Math.ceil(ms))

  return {
    close: (name: string, ms: number): Effect.Effect<boolean, StoreError> =>
      runClose([key], [name, whole(ms), whole(KEPT_MS)]).pipe(
        Effect.mapBoth({ onFailure: unavailable, onSuccess: (isNew) => isNew === 1 })
      ),

    claim: (names: ReadonlyArray<string>, holdMs: number): Effect.Effect<number, StoreError> =>
      Effect.mapError(runClaim([key], [whole(holdMs), ...names]), unavailable),

    lift: (names: ReadonlyArray<string>): Effect.Effect<void, StoreError> =>
      names.length === 0 ? Effect.void : Effect.mapError(Effect.asVoid(redis.send("HDEL", key, ...names)), unavailable),

    all: runAll([key], []).pipe(
      Effect.mapBoth({
        onFailure: unavailable,
        onSuccess: (listed): ReadonlyMap<string, number> => {
          const names = new Map<string, number>()
          for (let at = 0; at + 1 < listed.length; at += 2) names.set(String(listed[at]), Number(listed[at + 1]))
          return names
        }
      })
    )
  }
})

const unavailable = (error: Redis.RedisError): StoreError =>
  new StoreError({ dependency: "limit_store", cause: error.cause })

/** Shared by all processes on one Redis. */
export const layer = Layer.effect(LockoutStore, makeLockoutRedis)
