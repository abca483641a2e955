/** Clients that leave in the middle of a stream, over real sockets. */
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"
import { promptMarker, startGateway } from "../support/Gateway.ts"
import { chunkBody, sse } from "../support/upstream/Bodies.ts"
import { configFor, postgresEnv, providerEnv, upstream } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const words = ["one ", "two ", "three ", "four ", "five"]

it.live("a client that leaves ends the provider's call within a second, and pays for what it got", () =>
  Effect.gen(function* () {
    const provider = yield* upstream
    yield* Effect.promise(() =>
      provider.script("small-2026", {
        chunks: [
          sse(chunkBody({ role: "assistant", content: "" })),
          ...words.map((content) => sse(chunkBody({ content })))
        ],
        ending: "hang"
      })
    )
    const gateway = yield* startGateway({
      env: { ...providerEnv, ...(yield* postgresEnv), REDIS_URL: inject("redisUrl") },
      config: configFor(provider.url)
    })
    const { id: keyId, key } = yield* gateway.issueKey({ monthly_budget_usd: 1 })
    const stream = yield* gateway.stream("/v1/chat/completions", {
      key,
      body: { model: "test/small", stream: true, messages: [{ role: "user", content: promptMarker }] }
    })
    yield* Effect.promise(() => stream.until(`"five"`))
    const [open] = yield* Effect.promise(() => provider.requests())
    assert.isFalse(open?.closedEarly)

    const leftAtMs = Date.now()
    stream.leave()
    const [closed] = yield* Effect.promise(() => provider.until(([request]) => request?.closedEarly === true))
    assert.isAtMost((closed?.closedAtMs ?? 0) - leftAtMs, 1_000)

    const { text } = yield* gateway.send(`/v1/generations/${String(stream.headers["x-generation-id"])}`, { key })
    const record = JSON.parse(text) as {
      readonly cancelled: boolean
      readonly usage_source: string
      readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
      readonly cost: { readonly billed_usd: number }
    }
    assert.deepInclude(record, { cancelled: true, usage_source: "counted" })
    const { completion_tokens: completion, prompt_tokens: prompt } = record.usage
    assert.strictEqual(completion, words.length)
    assert.isAbove(prompt, 0)
    assert.closeTo(record.cost.billed_usd, (prompt * 2 + completion * 8) / 1e6, 1e-9)

    // Nothing stays reserved, and the concurrency slot is free again.
    const own = JSON.parse((yield* gateway.send("/v1/key", { key })).text) as {
      readonly id: string
      readonly usage: { readonly month_spent_usd: number; readonly month_reserved_usd: number }
    }
    assert.strictEqual(own.id, keyId)
    assert.strictEqual(own.usage.month_reserved_usd, 0)
    assert.closeTo(own.usage.month_spent_usd, record.cost.billed_usd, 1e-9)
  })
)
