import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { helloReply, ask } from "../contract/wire.ts"
import { TestApp } from "../support/TestApp.ts"

const tiers = {
  free: { requestsPerMinute: 1, tokensPerMinute: 40_000, concurrency: 4 },
  pro: { requestsPerMinute: 24, tokensPerMinute: 400_000, concurrency: 32 },
  enterprise: { requestsPerMinute: 6_000, tokensPerMinute: 4_000_000, concurrency: 256 }
}
const app = TestApp.layer({
  providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }],
  settings: { tiers }
})

it.effect("a path that cannot be read is no route; one with another method says which there are", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const code = (method: string, path: string) =>
      Effect.map(send(path, { method }), ({ status, text }) => [status, JSON.parse(text).error.code])
    assert.deepStrictEqual(yield* code("GET", "/v1/generations/%zz"), [404, "route_not_found"])
    assert.deepStrictEqual(yield* code("PUT", "/v1/generations/gen_1"), [405, "method_not_allowed"])
    for (const page of ["/console", "/docs", "/openapi.json"]) {
      assert.deepStrictEqual(yield* code("POST", page), [405, "method_not_allowed"])
    }
  }).pipe(Effect.provide(app))
)

it.effect("resets are written as OpenAI writes them: milliseconds, seconds, minutes", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const reset = (tier: "free" | "pro" | "enterprise") =>
      Effect.gen(function* () {
        const { secret } = yield* issueKey({ tier })
        return (yield* chat(ask("Hi"), { key: secret })).headers.get("x-ratelimit-reset-requests")
      })
    assert.strictEqual(yield* reset("enterprise"), "10ms")
    assert.strictEqual(yield* reset("pro"), "2.5s")
    assert.strictEqual(yield* reset("free"), "1m0s")
  }).pipe(Effect.provide(app))
)

it.effect("HEAD answers like GET without a body", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { headers, status, text } = yield* send("/health", { method: "HEAD" })
    assert.deepStrictEqual([status, text, headers.get("content-type")], [200, "", "application/json"])
  }).pipe(Effect.provide(app))
)

it.effect("every answer is counted by its status", () =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    yield* send("/health")
    yield* send("/nowhere")
    yield* send("/nowhere")
    const { text } = yield* send("/v1/admin/overview", { headers: { "x-admin-key": adminKey } })
    assert.deepStrictEqual(JSON.parse(text).requests.by_status, { "200": 1, "404": 2 })
  }).pipe(Effect.provide(app))
)
