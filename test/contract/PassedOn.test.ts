/**
 * What a provider says beside the members that the gateway knows reaches the client: whole,
 * streamed and from the cache.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChatReply } from "../../src/domain/Chat.ts"
import { behind, type Mode, useUpstream } from "../faults/gateway.ts"
import { chatBody, chunkBody, DONE, sse, usageBody } from "../support/upstream/Bodies.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, chunksOf, type Chunk } from "./wire.ts"

const upstream = useUpstream()

const citations = ["https://example.org/a", "https://example.org/b"]
const filtered = [{ prompt_index: 0, content_filter_results: { hate: { filtered: false } } }]
const usage = {
  ...usageBody({ prompt_tokens: 11, completion_tokens: 7, cached_tokens: 2 }),
  completion_tokens_details: { reasoning_tokens: 3, audio_tokens: 1, accepted_prediction_tokens: 2 },
  num_search_queries: 4,
  server_tool_use: { web_search_requests: 3, web_fetch_requests: 1 },
  cost: 12.5,
  cost_in_usd_ticks: 99,
  estimated_cost_usd: 12.5
}
const expectedUsage = {
  prompt_tokens: 11,
  completion_tokens: 7,
  cached_tokens: 2,
  num_search_queries: 4,
  server_tool_use: { web_search_requests: 3, web_fetch_requests: 1 },
  prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 3, audio_tokens: 1, accepted_prediction_tokens: 2 }
}

/** The members of JSON, or of all chunks together. */
const read = (mode: Mode, text: string) => {
  if (mode === "JSON") return JSON.parse(text)
  const chunks = chunksOf(text)
  assert.isTrue(chunks.every(({ choices }) => choices.length === 1))
  return chunks.reduce<object>((all, chunk) => ({ ...all, ...chunk }), {})
}

it.live.each(["JSON", "stream"] as const)(
  "members beside choices and of usage, %s",
  Effect.fnUntraced(function* (mode) {
    const last = { ...chunkBody({}, "stop"), usage: null }
    const chunks = [
      // Azure's first chunk has no choice.
      { id: "", object: "", model: "", choices: [], prompt_filter_results: filtered },
      chunkBody({ role: "assistant", content: "Hi" }),
      { ...chunkBody({ content: " there" }), citations, provider: "Other", cache_hit: "no", obfuscation: "x9" },
      last,
      { ...last, choices: [], usage }
    ]
    const json = {
      ...chatBody(),
      citations,
      prompt_filter_results: filtered,
      provider: "Other",
      cache_hit: "no",
      usage
    }
    const does = mode === "JSON" ? { json } : { chunks: [...chunks.map(sse), DONE] }
    const { ask } = yield* behind(upstream(), { alpha: { does, maxCompletionTokens: null } })
    const { status, text } = yield* ask(mode)
    assert.strictEqual(status, 200, text)
    const body = read(mode, text)
    assert.deepInclude(body, {
      provider: "alpha",
      cache_hit: false,
      citations,
      prompt_filter_results: filtered,
      service_tier: "default",
      system_fingerprint: "fp_44709d6fcb"
    })
    for (const [name, value] of Object.entries(expectedUsage)) assert.deepStrictEqual(body.usage[name], value, name)
    assert.isBelow(body.usage.estimated_cost_usd, 1)
    assert.isBelow(body.usage.cost ?? 0, 1)
    assert.notProperty(body.usage, "cost_in_usd_ticks")
    if (mode === "stream") {
      const [first, second] = chunksOf(text) as ReadonlyArray<Chunk & Record<string, unknown>>
      assert.deepStrictEqual(first?.["prompt_filter_results"], filtered)
      assert.strictEqual(second?.["obfuscation"], "x9")
      assert.notProperty(second, "prompt_filter_results")
    }
  }, Effect.scoped)
)

it.live(
  "usage that is not believed is not told either",
  Effect.fnUntraced(function* () {
    const absurd = { ...usage, prompt_tokens: 900_000_000, total_tokens: 900_000_007 }
    const { ask } = yield* behind(upstream(), { alpha: { does: { json: { ...chatBody(), usage: absurd } } } })
    const { text } = yield* ask("JSON")
    assert.notProperty(JSON.parse(text).usage, "num_search_queries")
  }, Effect.scoped)
)

it.live(
  "usage of more than 16 KiB is told without the members that the gateway does not know",
  Effect.fnUntraced(function* () {
    const long = { ...usage, trace: "x".repeat(17_000) }
    const { ask } = yield* behind(upstream(), { alpha: { does: { json: { ...chatBody(), usage: long } } } })
    const { text } = yield* ask("JSON")
    assert.isBelow(text.length, 2_000)
    assert.include(JSON.parse(text).usage, { prompt_tokens: 11, completion_tokens: 7 })
  }, Effect.scoped)
)

const reply: ChatReply = {
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "42",
        reasoning: "Six times seven.",
        reasoning_details: [{ type: "reasoning.text", text: "Six times seven.", signature: "c2ln", index: 0 }]
      },
      finish_reason: "stop"
    }
  ],
  extra: { citations, service_tier: "flex" },
  usage: { promptTokens: 11, completionTokens: 7, cachedTokens: 2, rare: { completion_audio: 1 } },
  usageExtra: { num_search_queries: 4, completion_tokens_details: { audio_tokens: 1 } },
  systemFingerprint: "fp_1"
}

it.effect.each([
  ["JSON", "stream"],
  ["stream", "JSON"]
] as const)(
  "an answer that was stored as %s comes back whole as %s",
  Effect.fnUntraced(
    function* ([stored, asked]) {
      const { chat, issueKey } = yield* TestApp
      const { secret } = yield* issueKey()
      for (const [mode, cache] of [
        [stored, "miss"],
        [asked, "hit"],
        [stored, "hit"]
      ] as const) {
        const answered = yield* chat(ask("Hi", { stream: mode === "stream" }), { key: secret })
        assert.strictEqual(answered.headers.get("x-tollgate-cache"), cache)
        const body = read(mode, answered.text)
        assert.deepInclude(body, { citations, service_tier: "flex", system_fingerprint: "fp_1" })
        assert.strictEqual(body.usage.num_search_queries, 4)
        assert.strictEqual(body.usage.completion_tokens_details.audio_tokens, 1)
        const [first] = mode === "JSON" ? body.choices : (chunksOf(answered.text)[0]?.choices ?? [])
        assert.deepInclude(first.message ?? first.delta, {
          reasoning: "Six times seven.",
          reasoning_content: "Six times seven.",
          reasoning_details: reply.choices[0]?.message["reasoning_details"]
        })
      }
    },
    Effect.provide(TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply } } }] }))
  )
)
