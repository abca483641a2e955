/**
 * Any usage that a provider reports, in any dialect, whole or streamed, is settled for no more than
 * the request allows.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { dialects } from "../../providers/usageReplies.ts"
import { ending, piece, saying, stop } from "../scripts.ts"
import { gatewayOn, ran, recordOf, streamed } from "../streams.ts"

const names = [
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_tokens_details",
  "completion_tokens_details",
  "prompt_cache_hit_tokens",
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "totalTokenCount",
  "cachedContentTokenCount",
  "toolUsePromptTokenCount",
  "inputTokens",
  "outputTokens",
  "cacheReadInputTokens",
  "cacheWriteInputTokens",
  "input_tokens_details",
  "cache_creation",
  "server_tool_use",
  "num_search_queries",
  "speed",
  "promptTokensDetails",
  "candidatesTokensDetails",
  "cacheDetails"
]

const Count = Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 10_000 }))
const Figure = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200_000 })),
  Schema.Finite,
  Schema.Literals([1e9, 1e13, 2 ** 53, 2 ** 64]),
  Schema.Boolean,
  Schema.Null,
  Schema.String,
  Schema.Struct({
    cached_tokens: Schema.Int,
    reasoning_tokens: Schema.Int,
    audio_tokens: Schema.Int,
    cache_write_tokens: Count,
    ephemeral_1h_input_tokens: Count,
    web_search_requests: Count
  }),
  Schema.Array(Schema.Struct({ modality: Schema.Literals(["AUDIO", "IMAGE"]), tokenCount: Count })),
  Schema.Array(Schema.Struct({ ttl: Schema.Literals(["5m", "1h"]), inputTokens: Count }))
])
const Reported = Schema.Struct(Object.fromEntries(names.map((name) => [name, Schema.optionalKey(Figure)])))
const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 16_384 }))

/** Alpha: 1 and 2 USD a million tokens, a context of 128,000 and 16,384 tokens of output. */
const MOST_PROMPT = 4 * 128_000 + 1_024
const mostOutput = (limit: number) => limit + 1_024

const cases = dialects.flatMap(({ name, stream, whole }) => [
  { name, way: "whole", read: whole },
  { name, way: "stream", read: stream }
])

for (const { name, read, way } of cases) {
  it.effect.prop(`${name}, ${way}`, { given: Reported, max_tokens: Limit }, ({ given, max_tokens }) =>
    Effect.gen(function* () {
      const usage = yield* read(given)
      const { layer } = gatewayOn({
        alpha: { reply: saying("one two three", usage), events: [piece("one two three"), stop, ending(usage)] }
      })
      const record = yield* Effect.gen(function* () {
        if (way === "stream") return (yield* streamed({ request: { max_tokens } })).record
        const { metadata } = yield* Effect.scoped(ran({ request: { max_tokens, stream: false } }))
        return yield* recordOf(metadata.generationId)
      }).pipe(Effect.provide(layer))
      const { cachedTokens, completionTokens, promptTokens, reasoningTokens = 0 } = record.usage
      for (const tokens of [cachedTokens, completionTokens, promptTokens, reasoningTokens]) {
        assert.isTrue(Number.isSafeInteger(tokens) && tokens >= 0, `${tokens}`)
      }
      assert.isAtMost(cachedTokens, promptTokens)
      assert.isAtMost(reasoningTokens, completionTokens)
      assert.isAtMost(promptTokens, MOST_PROMPT)
      assert.isAtMost(completionTokens, mostOutput(max_tokens))
      assert.isAtLeast(record.cost.billedNano, 0)
      // A class without a price costs as much as output, and at most a thousand searches are
      // believed.
      const mostTokens = MOST_PROMPT + mostOutput(max_tokens)
      assert.isAtMost(record.cost.billedNano, mostTokens * 2_000 + 1_000 * 35_000_000)
      const lines = record.cost.lines.reduce((sum, { nano }) => sum + nano, 0)
      assert.strictEqual(lines, record.cost.totalNano)
    })
  )
}
