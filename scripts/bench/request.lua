-- The requests of the benchmark, for wrk. From the environment: the file of the body, with @@ where a unique number goes; a nonce (empty:
-- every body is the same); and further headers, one a line. Prints its figures as one line of JSON.
local file = assert(io.open(os.getenv("BENCH_BODY_FILE"), "rb"))
local body = file:read("*a")
file:close()
local nonce = os.getenv("BENCH_UNIQUE")
local own = os.getenv("BENCH_UNIQUE_HEADER")
local headers = { ["content-type"] = "application/json" }
for name, value in string.gmatch(os.getenv("BENCH_HEADERS"), "([^:\n]+): ([^\n]*)\n") do headers[name] = value end

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
  if own ~= "" then headers[own] = nonce .. count end
  return wrk.format("POST", nil, headers, head .. nonce .. count .. tail)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('{"requests":%d,"micros":%d,"p50":%d,"p99":%d,"errors":%d}\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
