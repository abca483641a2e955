/**
 * Two processes whose clocks differ by two minutes: neither takes over the other's running work,
 * and limits are shared.
 */
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"
import { type Gateway, promptMarker, startGateway } from "../support/Gateway.ts"
import { skewedBy } from "../support/skewedBy.ts"
import { postgresEnv } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const MINUTE_MS = 60_000

interface Record {
  readonly created_at: string
  readonly usage_source: string
  readonly cost: { readonly billed_usd: number }
  readonly usage: { readonly completion_tokens: number }
}

it.live("clocks that are two minutes apart settle nobody else's requests and multiply no limit", () =>
  Effect.gen(function* () {
    const env = { ...(yield* postgresEnv), REDIS_URL: inject("redisUrl") }
    const behind = yield* startGateway({ env: { ...env, ...skewedBy(-MINUTE_MS) } })
    const { key } = yield* behind.issueKey({ monthly_budget_usd: 1 })
    const words = 60
    const stream = yield* behind.stream("/v1/chat/completions", {
      key,
      body: {
        model: "mock/lorem",
        max_tokens: words,
        stream: true,
        messages: [{ role: "user", content: promptMarker }],
        metadata: { mock: { tokens_per_second: 20 } }
      }
    })
    yield* Effect.tryPromise(() => stream.until(`"content"`))
    const id = String(stream.headers["x-generation-id"])

    // It looks for the reservations of dead processes at start-up, when by its clock the stream's
    // reservation has two minutes less to live.
    const ahead = yield* startGateway({ env: { ...env, ...skewedBy(MINUTE_MS) } })
    const early = yield* ahead.send(`/v1/generations/${id}`, { key })
    assert.include([200, 409], early.status)
    assert.include(yield* Effect.promise(() => stream.ended), "data: [DONE]")
    const read = yield* ahead.send(`/v1/generations/${id}`, { key })
    const generation = JSON.parse(read.text) as Record
    assert.deepStrictEqual(
      [read.status, generation.usage_source, generation.usage.completion_tokens],
      [200, "provider", words]
    )
    const spent = (gateway: Gateway) =>
      Effect.map(gateway.send("/v1/key", { key }), ({ text }) => JSON.parse(text).usage.month_spent_usd as number)
    assert.deepStrictEqual([yield* spent(behind), yield* spent(ahead)], Array(2).fill(generation.cost.billed_usd))

    const { key: free } = yield* ahead.issueKey({ tier: "free" })
    const startedMs = performance.now()
    let granted = 0
    for (let round = 0; round < 30; round++) {
      const { status } = yield* (round % 2 === 0 ? behind : ahead).send("/v1/chat/completions", {
        key: free,
        body: { model: "mock/echo", messages: [{ role: "user", content: promptMarker }] }
      })
      if (status === 200) granted++
    }
    // 20 a minute, and one more for each three seconds of the test.
    assert.isAtLeast(granted, 20)
    assert.isAtMost(granted, 21 + (performance.now() - startedMs) / 3_000)

    const clocks = [
      yield* behind.send("/v1/generations?limit=1", { key }),
      yield* ahead.send("/v1/generations?limit=1", { key: free })
    ]
    const [first, second] = clocks.map(({ text }) => Date.parse(JSON.parse(text).data[0].created_at))
    assert.isAbove((second ?? 0) - (first ?? 0), MINUTE_MS, "the clocks were set off")
  })
)
