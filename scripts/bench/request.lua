-- The requests of the benchmark, for wrk. From the environment: the body, with @@ where a unique number goes; a nonce (empty: every
-- body is the same); and the credential. Prints its figures as one line of JSON.
local body = os.getenv("BENCH_BODY")
local nonce = os.getenv("BENCH_UNIQUE")
local authorization = os.getenv("BENCH_AUTHORIZATION")
local headers = { ["content-type"] = "application/json" }
if authorization ~= "" then headers["authorization"] = authorization end

local at = string.find(body, "@@", 1, true)
local head, tail = string.sub(body, 1, at - 1), string.sub(body, at + 2)
local constant
local count = 0

-- Not before: wrk sets the Host header between loading this file and calling init.
function init()
  constant = wrk.format("POST", nil, headers, head .. "same" .. tail)
end

function request()
  if nonce == "" then return constant end
  count = count + 1
  return wrk.format("POST", nil, headers, head .. nonce .. count .. tail)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('{"requests":%d,"micros":%d,"p50":%d,"p99":%d,"errors":%d}\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
