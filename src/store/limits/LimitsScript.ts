/**
 * The Lua scripts of the Redis limit store. They repeat the arithmetic of LimitVerdict.
 *
 * A holder (a key, or an owner of keys) has two Redis keys: a hash with the fields `at, ru, rl, tu,
 * tl` (time, requests used and their limit, tokens used and their limit), and a sorted set of
 * leases scored by their expiry. Both expire by themselves. A key and its owner share a hash tag,
 * so that a Redis cluster keeps them on one node.
 */
import { concurrencyRetryMs, tolerance, windowMs } from "./LimitVerdict.ts"

/**
 * The clock that the scripts read. `server` is Redis' own, the same for all processes. `request` is
 * the caller's `nowMs`, for replays that need exact arithmetic.
 */
export type LimitClock = "server" | "request"

const prefix = (keyId: string, ownerId: string | null): string =>
  ownerId === null ? `tollgate:limits:{${keyId}}` : `tollgate:limits:{${ownerId}}:${keyId}`
export const bucketsKey = (keyId: string, ownerId: string | null = null): string => `${prefix(keyId, ownerId)}:buckets`
export const leasesKey = (keyId: string, ownerId: string | null = null): string => `${prefix(keyId, ownerId)}:leases`

const now = (clock: LimitClock): string =>
  clock === "request"
    ? "local now = tonumber(ARGV[1])"
    : `local time = redis.call("TIME")
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)`

/**
 * Reads the current buckets of each holder into `holders[1]` (the key) and `holders[2]` (its owner,
 * if any). KEYS: buckets and leases of each holder. ARGV: nowMs, four values that the script
 * defines, then requests limit, tokens limit and concurrency of each holder.
 */
const read = (clock: LimitClock): string => `
${now(clock)}
local function read(i)
  local rl, tl = tonumber(ARGV[3 * i + 3]), tonumber(ARGV[3 * i + 4])
  local state = redis.call("HMGET", KEYS[2 * i - 1], "at", "ru", "rl", "tu", "tl")
  local at = tonumber(state[1] or now)
  local back = now - at < -${windowMs}
  local elapsed = back and ${windowMs} or math.max(0, now - at)
  local function used_after(used, used_limit, limit)
    if used_limit > 0 then used = used * limit / used_limit end
    return math.max(0, used - elapsed * limit / ${windowMs})
  end
  return {
    buckets = KEYS[2 * i - 1], leases = KEYS[2 * i], known = state[1], at = back and now or math.max(at, now),
    rl = rl, tl = tl, concurrency = tonumber(ARGV[3 * i + 5]),
    ru = used_after(tonumber(state[2] or 0), tonumber(state[3] or rl), rl),
    tu = used_after(tonumber(state[4] or 0), tonumber(state[5] or tl), tl)
  }
end
local holders = {}
for i = 1, #KEYS / 2 do holders[i] = read(i) end
local function reset(used, limit)
  if limit <= 0 then return 0 end
  return math.max(0, math.ceil(used * ${windowMs} / limit - ${tolerance}))
end
local function remaining(used, limit)
  return math.max(0, math.floor(limit - used + ${tolerance}))
end
-- The tighter bucket: its holder, what remains, and the time until it is full.
local function tighter(used, limit)
  local i = 1
  if holders[2] and remaining(holders[2][used], holders[2][limit]) < remaining(holders[1][used], holders[1][limit]) then
    i = 2
  end
  return i, remaining(holders[i][used], holders[i][limit]), reset(holders[i][used], holders[i][limit])
end
-- Numbers are written with 17 digits, as a double needs. One extra window of life keeps a bucket
-- that is about to be full from expiring under a slow reader. An absent bucket equals a full one.
local function write(h)
  local f = "%.17g"
  redis.call("HSET", h.buckets, "at", f:format(h.at), "ru", f:format(h.ru), "rl", f:format(h.rl),
    "tu", f:format(h.tu), "tl", f:format(h.tl))
  redis.call("PEXPIRE", h.buckets, ("%.0f"):format(math.max(reset(h.ru, h.rl), reset(h.tu, h.tl)) + ${windowMs}))
end
`

/** Defines `set_lease`, which sets a lease that ends `lease_ms` from now. */
const setLease = `
local function set_lease(leases, lease, lease_ms)
  redis.call("ZADD", leases, ("%.17g"):format(now + lease_ms), lease)
  local life = lease_ms + ${windowMs}
  if redis.call("PTTL", leases) < life then redis.call("PEXPIRE", leases, ("%.0f"):format(life)) end
end
`

/**
 * Takes requests and tokens, and a lease unless its id is empty. ARGV: as `read`, with requests (0
 * or 1), tokens, lease id, lease ms.
 *
 * Returns `{refused, holder, retryAfterMs, requests: holder, remaining, reset ms, tokens: holder,
 * remaining, reset ms}`. `refused` is 0 for granted, 1 requests, 2 tokens, 3 concurrency. A holder
 * is 1 for the key, 2 for its owner.
 */
export const takeScript = (clock: LimitClock): string => `${read(clock)}${setLease}
local requests, tokens, lease, lease_ms = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local function taken_from(wanted, limit)
  return wanted > 0 and math.min(wanted, limit) or 0
end
local function wait_for(used, wanted, limit)
  if limit <= 0 then return wanted > 0 and ${windowMs} or 0 end
  local over = used + taken_from(wanted, limit) - limit
  if over <= ${tolerance} then return 0 end
  return math.ceil(over * ${windowMs} / limit - ${tolerance})
end
local function requests_wait(h) return requests == 0 and 0 or wait_for(h.ru, requests, h.rl) end
local function tokens_wait(h) return wait_for(h.tu, tokens, h.tl) end
local function lease_wait(h)
  if lease == "" then return 0 end
  redis.call("ZREMRANGEBYSCORE", h.leases, "-inf", ("%.17g"):format(now))
  local free = redis.call("ZCARD", h.leases) < h.concurrency or redis.call("ZSCORE", h.leases, lease)
  return free and 0 or ${concurrencyRetryMs}
end
local function answer(refused, holder, wait)
  local rh, rr, rs = tighter("ru", "rl")
  local th, tr, ts = tighter("tu", "tl")
  return { refused, holder, wait, rh, rr, rs, th, tr, ts }
end
for refused, wait_at in ipairs({ requests_wait, tokens_wait, lease_wait }) do
  local key_wait, owner_wait = wait_at(holders[1]), holders[2] and wait_at(holders[2]) or 0
  if key_wait > 0 or owner_wait > 0 then
    if key_wait >= owner_wait then return answer(refused, 1, key_wait) end
    return answer(refused, 2, owner_wait)
  end
end
for _, h in ipairs(holders) do
  h.ru = h.ru + requests
  h.tu = h.tu + taken_from(tokens, h.tl)
  write(h)
  if lease ~= "" then set_lease(h.leases, lease, lease_ms) end
end
return answer(0, 0, 0)
`

/**
 * Corrects the tokens used. ARGV: as `read`, with the tokens to take as the third value. Returns
 * the tighter tokens bucket: `{holder, remaining, reset ms}`.
 */
export const correctScript = (clock: LimitClock): string => `${read(clock)}
local delta = tonumber(ARGV[3])
for _, h in ipairs(holders) do
  h.tu = math.max(0, math.min(h.tu + delta, 2 * h.tl))
  if h.known or delta > 0 then write(h) end
end
return { tighter("tu", "tl") }
`

/** Renews leases. KEYS: sets of leases. ARGV: nowMs, lease ms, lease ids. */
export const renewScript = (clock: LimitClock): string => `
${now(clock)}${setLease}
for i = 3, #ARGV do
  for _, leases in ipairs(KEYS) do set_lease(leases, ARGV[i], tonumber(ARGV[2])) end
end
return 0
`

/** Removes a lease. KEYS: sets of leases. ARGV: lease id. */
export const removeScript = `
for _, leases in ipairs(KEYS) do redis.call("ZREM", leases, ARGV[1]) end
return 0
`
