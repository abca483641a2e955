/**
 * A client that disconnects: the upstream call is aborted at once, and the produced output is
 * settled.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { nanoFromUsd } from "../../src/domain/pricing/Money.ts"
import { type Script } from "../../src/testing/ScriptedProvider.ts"
import { each } from "../support/surfaces.ts"
import { TestApp } from "../support/TestApp.ts"
import { open } from "./client.ts"
import { advanceUntil, until } from "./clock.ts"
import { delta, end } from "./wire.ts"

const upstream = (script: Script) => {
  const seen = { calls: 0, aborts: 0 }
  const layer = TestApp.layer({
    providers: [
      {
        slug: "alpha",
        models: { "test/small": script },
        onCall: () => void seen.calls++,
        onAbort: () => void seen.aborts++
      }
    ]
  })
  return { seen, layer }
}

each("in the middle of a stream: aborted, billed for the produced output, readable as cancelled", (surface) => {
  const { layer, seen } = upstream({ events: [delta({ content: "one two three" }), 60_000, end] })
  return Effect.gen(function* () {
    const { adminKey, issueKey, send, url } = yield* TestApp
    const { id, secret } = yield* issueKey({ monthlyBudgetNano: nanoFromUsd(1) })
    const stream = open(`${url}${surface.path}`, secret, surface.body({ text: "Hi", stream: true, maxTokens: 1_000 }))
    yield* until(() => stream.text().includes("three"))
    assert.strictEqual(seen.aborts, 0)
    stream.hangUp()
    yield* until(() => seen.aborts === 1)
    const record = JSON.parse(
      (yield* send(`/v1/generations/${stream.header("x-generation-id")}`, { key: secret })).text
    )
    assert.isTrue(record.cancelled)
    assert.isNull(record.finish_reason)
    assert.isNull(record.error_type)
    assert.strictEqual(record.usage_source, "counted")
    assert.deepStrictEqual([record.usage.prompt_tokens, record.usage.completion_tokens], [7, 3])
    assert.strictEqual(record.cost.billed_usd, 0.000013)
    assert.strictEqual(record.reservation.settled_usd, 0.000013)
    const key = JSON.parse((yield* send(`/v1/keys/${id}`, { headers: { "x-admin-key": adminKey } })).text)
    assert.deepStrictEqual([key.usage.month_spent_usd, key.usage.month_reserved_usd], [0.000013, 0])
  }).pipe(Effect.provide(layer))
})

each("before a whole reply is complete, and before a stream's first token", (surface) => {
  const { layer, seen } = upstream({ hangs: true })
  return Effect.gen(function* () {
    const { issueKey, send, url } = yield* TestApp
    const { secret } = yield* issueKey()
    for (const [count, stream] of [false, true].entries()) {
      const client = open(`${url}${surface.path}`, secret, surface.body({ text: "Hi", stream, maxTokens: 1_000 }))
      yield* until(() => seen.calls === count + 1)
      client.hangUp()
      // The output of an unfinished whole reply is unknown, so its provider is awaited for five
      // more seconds.
      yield* (stream ? until : advanceUntil)(() => seen.aborts === count + 1)
    }
    // The read is served after the aborts were settled, because the ledger applies both in order.
    yield* Effect.suspend(() => send("/v1/generations", { key: secret })).pipe(
      Effect.repeat({ until: ({ text }) => JSON.parse(text).data.length === 2 }),
      Effect.map(({ text }) => {
        for (const record of JSON.parse(text).data) {
          assert.isTrue(record.cancelled)
          assert.strictEqual(record.usage_source, record.streamed ? "counted" : "estimated")
          if (record.streamed) assert.strictEqual(record.usage.completion_tokens, 0)
          else assert.isAtLeast(record.usage.completion_tokens, 5 * 200)
          assert.deepStrictEqual(
            record.attempts.map(({ status }: { status: string }) => status),
            ["cancelled"]
          )
        }
      })
    )
  }).pipe(Effect.provide(layer))
})

each("frees the concurrency slot of the client that left", (surface) => {
  const { layer, seen } = upstream({ hangs: true })
  return Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey({ tier: "free" })
    for (let count = 1; count <= 6; count++) {
      // Four concurrent requests are allowed.
      const client = open(`${url}${surface.path}`, secret, surface.body({ text: `Hi ${count}`, stream: true }))
      yield* until(() => seen.calls === count)
      client.hangUp()
      yield* until(() => seen.aborts === count)
    }
    assert.strictEqual(seen.calls, 6)
  }).pipe(Effect.provide(layer))
})
