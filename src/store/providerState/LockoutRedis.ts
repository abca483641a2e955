/**
 * Closed names in Redis: one hash, `tollgate:lockouts`, of names and until when each is closed by Redis's own clock, so that the processes'
 * clocks need not agree. Each change is one atomic step.
 */
import { Effect } from "effect"
import { Redis } from "effect/persistence"
import { redisScript } from "../redis/RedisScript.ts"
import { StoreError } from "../StoreError.ts"

const key = "tollgate:lockouts"
const KEPT_MS = 3_600_000

const nowLua = `
local time = redis.call("TIME")
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function at(ms) return string.format("%.0f", now + tonumber(ms)) end`

/** Its name, and for how long: 1 when it was not there before. */
const closeScript = `${nowLua}
local isNews = redis.call("HSET", KEYS[1], ARGV[1], at(ARGV[2]))
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return isNews`

/** For how long to hold, then names. */
const claimScript = `${nowLua}
local left = 0
local suspects = {}
for i = 2, #ARGV do
  local till = redis.call("HGET", KEYS[1], ARGV[i])
  if till then
    suspects[#suspects + 1] = ARGV[i]
    left = math.max(left, tonumber(till) - now)
  end
end
if left > 0 then return left end
for i = 1, #suspects do redis.call("HSET", KEYS[1], suspects[i], at(ARGV[1])) end
return 0`

/** Names and what is left of their time, in turns. */
const allScript = `${nowLua}
local listed = redis.call("HGETALL", KEYS[1])
for i = 2, #listed, 2 do listed[i] = math.max(0, tonumber(listed[i]) - now) end
return listed`

/** The service over the `Redis` of the context; failures are `StoreError`s of the limit store. */
export const makeLockoutRedis = Effect.gen(function* () {
  const redis = yield* Redis.Redis
  const runClose = redisScript<number>(redis, closeScript)
  const runClaim = redisScript<number>(redis, claimScript)
  const runAll = redisScript<ReadonlyArray<string | number>>(redis, allScript)
  const whole = (ms: number) => String(Math.ceil(ms))

  return {
    close: (name: string, ms: number): Effect.Effect<boolean, StoreError> =>
      runClose([key], [name, whole(ms), whole(KEPT_MS)]).pipe(
        Effect.mapBoth({ onFailure: unavailable, onSuccess: (isNews) => isNews === 1 })
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
