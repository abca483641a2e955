/** Good statuses with bodies that are not an answer, or not a regular one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatBody, chunkBody, DONE, errorBody, sse, streamChunks, usageChunkBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertFallback, assertWhole, healthyText } from "./answers.ts"
import { answering, behind, healthy, type Mode, modes, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

const html = { headers: { "content-type": "text/html" }, body: "<html><body>Please sign in</body></html>" }
const typed = (body: string): Behaviour => ({ headers: { "content-type": "application/json" }, body })
const overloaded = errorBody("overloaded", { type: "server_error", code: "server_error" })
const role = sse(chunkBody({ role: "assistant", content: "" }))

const fallsBack = (cases: Readonly<Record<string, readonly [Mode, Behaviour]>>, errorType: string) =>
  it.live.each(Object.entries(cases).map(([name, [mode, does]]) => ({ name, mode, does })))(
    "$name ($mode)",
    ({ does, mode }) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), { alpha: { does }, beta: { does: answering(mode) } })
        assertFallback(mode, yield* gateway.ask(mode), { status: "error", error_type: errorType })
      })
  )

describe("a body that is not an answer: the fallback answers", () => {
  fallsBack(
    {
      "an HTML page": ["JSON", html],
      "an HTML page instead of events": ["stream", html],
      "an HTML page that is called JSON": ["JSON", typed("<html>")],
      "half a JSON body": ["JSON", typed(JSON.stringify(chatBody()).slice(0, 100))],
      "half a JSON body instead of events": ["stream", typed(JSON.stringify(chatBody()).slice(0, 100))],
      "JSON that is not an object": ["JSON", typed("null")],
      "an empty body": ["JSON", typed("")],
      "an event stream without an event": ["stream", { chunks: [": hello\n\n", DONE] }],
      "no choices": ["JSON", { json: { ...chatBody(), choices: [] } }],
      "no choices in events": ["stream", { chunks: [sse(usageChunkBody(healthy)), DONE] }],
      "empty content": ["JSON", { json: chatBody({ content: "", finish_reason: null }) }],
      "no content": ["JSON", { json: chatBody({ content: null, finish_reason: null }) }],
      "only a role": ["stream", { chunks: [role, DONE] }],
      "only a role and empty content": ["stream", { chunks: [role, sse(chunkBody({ content: "" })), DONE] }],
      "only a role and usage": ["stream", { chunks: [role, sse(usageChunkBody(healthy)), DONE] }]
    },
    "malformed"
  )
})

describe("an error inside a 200: the fallback answers", () => {
  fallsBack(
    {
      "as the body": ["JSON", { json: overloaded }],
      "as the body instead of events": ["stream", { json: overloaded }],
      "as the first event": ["stream", { chunks: [sse(overloaded)] }],
      "as an event after the role": ["stream", { chunks: [role, sse(overloaded), DONE] }],
      "as a text": ["JSON", { json: { error: "model is loading" } }]
    },
    "server_error"
  )
  fallsBack(
    { "too many requests": ["JSON", { json: errorBody("slow down", { code: "rate_limit_exceeded" }) }] },
    "rate_limited"
  )

  it.live("in the middle of a stream: an error, never a clean end", () =>
    Effect.gen(function* () {
      const chunks = [role, sse(chunkBody({ content: "Hel" })), sse(overloaded), DONE]
      const gateway = yield* behind(upstream(), { alpha: { does: { chunks } }, beta: { does: answering("stream") } })
      const reply = yield* gateway.ask("stream")
      assert.strictEqual(reply.content, "Hel")
      assert.deepStrictEqual(reply.finishReasons, ["error"])
      assert.strictEqual(reply.error?.type, "provider_error")
      assert.isTrue(reply.isDone)
    })
  )
})

describe("an irregular end of a stream is accepted", () => {
  const good = streamChunks(["Hello ", "from ", "the other side"], healthy)
  const endings: Readonly<Record<string, Behaviour>> = {
    "no [DONE], and the connection ends": { chunks: good.slice(0, -1) },
    "no [DONE], and the connection is cut": { chunks: good.slice(0, -1), ending: "close" },
    "no [DONE], and the connection stays open": { chunks: good.slice(0, -1), ending: "hang" }
  }
  it.live.each(Object.entries(endings))("%s: finished at once, with usage", ([, does]) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does } })
      // The first request takes longer.
      yield* gateway.ask("stream")
      const reply = yield* gateway.ask("stream")
      assertWhole("stream", reply, "alpha")
      // Usage has arrived, so the end is not waited for two seconds.
      assert.isBelow(reply.tookMs, 1_900)
      assert.deepStrictEqual(reply.usage, reply.receipt?.usage)
    })
  )

  it.live("a finish reason, then silence: finished after a moment, with counted tokens", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: { chunks: good.slice(0, -2), ending: "hang" } } })
      const reply = yield* gateway.ask("stream")
      assert.isUndefined(reply.error)
      assert.strictEqual(reply.content, healthyText)
      assert.deepStrictEqual(reply.finishReasons, ["stop"])
      assert.strictEqual(reply.receipt?.usage_source, "counted")
      assert.isBelow(reply.tookMs, 10_000)
    })
  )

  it.live.each(modes)("no usage: tokens are counted by the gateway (%s)", (mode) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: answering(mode, healthyText, null) } })
      const reply = yield* gateway.ask(mode)
      assert.strictEqual(reply.content, healthyText)
      assert.deepStrictEqual(reply.finishReasons, ["stop"])
      assert.strictEqual(reply.receipt?.usage_source, "counted")
      // Five words of one token each.
      assert.strictEqual(reply.usage?.completion_tokens, 5)
      assert.isAbove(reply.usage?.prompt_tokens ?? 0, 0)
      assert.deepStrictEqual(reply.usage, reply.receipt?.usage)
      assert.isAbove(reply.receipt?.cost.billed_usd ?? 0, 0)
    })
  )

  it.live("a usage of zero is used", () =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), {
        alpha: { does: answering("stream", healthyText, { prompt_tokens: 0, completion_tokens: 0 }) }
      })
      const reply = yield* gateway.ask("stream")
      assert.strictEqual(reply.receipt?.usage_source, "provider")
      assert.strictEqual(reply.usage?.total_tokens, 0)
    })
  )
})
