/**
 * Invariants of token buckets and leases for any history. The Redis store equals this table
 * (LimitsRedis.test.ts).
 */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { LimitTable } from "../../../src/store/limits/LimitTable.ts"
import { requestOf, roomy } from "./limitsSuite.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Limits = Schema.Struct({
  requestsPerMinute: between(1, 12),
  tokensPerMinute: between(1, 1_000),
  concurrency: between(1, 4)
})
/** The clock only advances. Every request has its own lease. */
const Requests = Schema.Array(
  Schema.Struct({
    afterMs: Schema.Union([between(0, 20), between(0, 10_000)]),
    tokens: between(0, 1_200),
    leaseMs: between(0, 20_000)
  })
)

/** Up to forty requests. */
const long = { arbitrary: { size: 40 } }

type Limits = typeof Limits.Type
type Requests = typeof Requests.Type

/** The requests at their moments, each with its verdict. */
const played = (limits: Limits, requests: Requests) => {
  const table = new LimitTable()
  let nowMs = 0
  return requests.map(({ afterMs, leaseMs, tokens }, at) => {
    nowMs += afterMs
    const request = requestOf("key", `lease${at}`, { limits, tokens, nowMs, leaseMs })
    return { request, verdict: table.acquire(request) }
  })
}

it.prop(
  "no period grants more than a full bucket and its refill in the meantime",
  { limits: Limits, requests: Requests },
  ({ limits, requests }) => {
    const granted = played(limits, requests).filter(({ verdict }) => verdict.refusedBy === null)
    for (const [from, first] of granted.entries()) {
      let [given, tokens] = [0, 0]
      for (const { request } of granted.slice(from)) {
        given++
        tokens += Math.min(request.tokens, limits.tokensPerMinute)
        const buckets = 1 + (request.nowMs - first.request.nowMs) / 60_000
        assert.isAtMost(given, limits.requestsPerMinute * buckets + 1e-3)
        assert.isAtMost(tokens, limits.tokensPerMinute * buckets + 1e-3)
      }
    }
  },
  long
)

it.prop(
  "never holds more leases than the limit, and an expired lease makes room",
  { concurrency: between(1, 3), requests: Requests },
  ({ concurrency, requests }) => {
    const held: Array<number> = []
    for (const { request, verdict } of played({ ...roomy, concurrency }, requests)) {
      const running = held.filter((untilMs) => untilMs > request.nowMs).length
      assert.strictEqual(verdict.refusedBy, running < concurrency ? null : "concurrency")
      if (verdict.refusedBy === null) held.push(request.nowMs + request.leaseMs)
    }
  },
  long
)

it.prop(
  "a refusal takes nothing: without the refused requests the others get the same verdicts",
  { limits: Limits, requests: Requests },
  ({ limits, requests }) => {
    const table = new LimitTable()
    for (const { request, verdict } of played(limits, requests)) {
      if (verdict.refusedBy === null) assert.deepStrictEqual(table.acquire(request), verdict)
    }
  },
  long
)

it.prop(
  "a refused request is granted after its retry time, and not a millisecond sooner",
  { limits: Limits, requests: Requests },
  ({ limits, requests }) => {
    const unleased = { ...limits, concurrency: 1_000 }
    const verdicts = played(unleased, requests)
    for (const [at, { request, verdict }] of verdicts.entries()) {
      if (verdict.refusedBy === null) continue
      const again = (afterMs: number) => {
        const table = new LimitTable()
        for (const before of verdicts.slice(0, at)) table.acquire(before.request)
        return table.acquire({ ...request, nowMs: request.nowMs + afterMs }).refusedBy
      }
      assert.strictEqual(again(verdict.retryAfterMs - 1), verdict.refusedBy)
      assert.notStrictEqual(again(verdict.retryAfterMs), verdict.refusedBy)
    }
  },
  long
)
