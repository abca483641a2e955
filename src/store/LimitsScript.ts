/**
 * The Redis side of limits: the arithmetic of LimitVerdict, said again in Lua. A key's state is two Redis keys that share a hash
 * tag, so that a cluster keeps them together: a hash `at, ru, rl, tu, tl` (moment, requests used and their limit, tokens used
 * and their limit) and a sorted set of leases scored by their expiry. Both expire by themselves.
 */
import { concurrencyRetryMs, tolerance, windowMs } from "./LimitVerdict.ts"

/**
 * Whose clock the scripts read. `server`: Redis' own, one for all processes. `request`: the caller's `nowMs`, for replays whose
 * arithmetic has to be exact.
 */
export type LimitClock = "server" | "request"

export const bucketsKey = (keyId: string): string => `tollgate:limits:{${keyId}}:buckets`
export const leasesKey = (keyId: string): string => `tollgate:limits:{${keyId}}:leases`

const now = (clock: LimitClock): string =>
  clock === "request"
    ? "local now = tonumber(ARGV[1])"
    : `local time = redis.call("TIME")
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)`

/** Reads both buckets as they are now; ends with `at`, `ru`, `tu` as locals, for the limits `rl` and `tl`. */
const read = (clock: LimitClock): string => `
${now(clock)}
local rl, tl = tonumber(ARGV[2]), tonumber(ARGV[3])
local state = redis.call("HMGET", KEYS[1], "at", "ru", "rl", "tu", "tl")
local at = tonumber(state[1] or now)
local back = now - at < -${windowMs}
local elapsed = back and ${windowMs} or math.max(0, now - at)
at = back and now or math.max(at, now)
local function used_after(used, used_limit, limit)
  if used_limit > 0 then used = used * limit / used_limit end
  return math.max(0, used - elapsed * limit / ${windowMs})
end
local ru = used_after(tonumber(state[2] or 0), tonumber(state[3] or rl), rl)
local tu = used_after(tonumber(state[4] or 0), tonumber(state[5] or tl), tl)
local function reset(used, limit)
  if limit <= 0 then return 0 end
  return math.max(0, math.ceil(used * ${windowMs} / limit - ${tolerance}))
end
-- Numbers are written with 17 digits, which is what a double needs. One more window of life keeps a bucket that is about to
-- be full from vanishing under a slow reader; an absent bucket is a full one.
local function write()
  local f = "%.17g"
  redis.call("HSET", KEYS[1], "at", f:format(at), "ru", f:format(ru), "rl", f:format(rl), "tu", f:format(tu), "tl", f:format(tl))
  redis.call("PEXPIRE", KEYS[1], ("%.0f"):format(math.max(reset(ru, rl), reset(tu, tl)) + ${windowMs}))
end
`

/**
 * KEYS: buckets, leases. ARGV: nowMs, requests limit, tokens limit, concurrency, tokens, lease id, lease ms.
 * Answers `{refused, retryAfterMs, requests remaining, requests reset ms, tokens remaining, tokens reset ms}`; refused is
 * 0 granted, 1 requests, 2 tokens, 3 concurrency.
 */
export const acquireScript = (clock: LimitClock): string => `${read(clock)}
local concurrency, tokens, lease, lease_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7])
local function taken_from(wanted, limit)
  return wanted > 0 and math.min(wanted, limit) or 0
end
local function wait_for(used, wanted, limit)
  if limit <= 0 then return wanted > 0 and ${windowMs} or 0 end
  local over = used + taken_from(wanted, limit) - limit
  if over <= ${tolerance} then return 0 end
  return math.ceil(over * ${windowMs} / limit - ${tolerance})
end
local function remaining(used, limit)
  return math.max(0, math.floor(limit - used + ${tolerance}))
end
local function answer(refused, wait)
  return { refused, wait, remaining(ru, rl), reset(ru, rl), remaining(tu, tl), reset(tu, tl) }
end
local requests_wait = wait_for(ru, 1, rl)
if requests_wait > 0 then return answer(1, requests_wait) end
local tokens_wait = wait_for(tu, tokens, tl)
if tokens_wait > 0 then return answer(2, tokens_wait) end
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", ("%.17g"):format(now))
if redis.call("ZCARD", KEYS[2]) >= concurrency and not redis.call("ZSCORE", KEYS[2], lease) then
  return answer(3, ${concurrencyRetryMs})
end
ru = ru + 1
tu = tu + taken_from(tokens, tl)
write()
redis.call("ZADD", KEYS[2], ("%.17g"):format(now + lease_ms), lease)
local life = lease_ms + ${windowMs}
if redis.call("PTTL", KEYS[2]) < life then redis.call("PEXPIRE", KEYS[2], ("%.0f"):format(life)) end
return answer(0, 0)
`

/** KEYS: buckets. ARGV: nowMs, requests limit, tokens limit, delta. */
export const correctScript = (clock: LimitClock): string => `${read(clock)}
local delta = tonumber(ARGV[4])
if not state[1] and delta <= 0 then return 0 end
tu = math.max(0, tu + delta)
write()
return 1
`
