/** Each dialect's reading of a provider's usage: valid numbers, or null. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type TokenUsage } from "../../../src/domain/pricing/Money.ts"
import { dialects } from "../usageReplies.ts"

/** Each dialect's names of the counts. */
const names: Readonly<Record<string, { prompt: string; output: string; total?: string }>> = {
  openai: { prompt: "prompt_tokens", output: "completion_tokens", total: "total_tokens" },
  anthropic: { prompt: "input_tokens", output: "output_tokens" },
  gemini: { prompt: "promptTokenCount", output: "candidatesTokenCount", total: "totalTokenCount" },
  bedrock: { prompt: "inputTokens", output: "outputTokens" },
  responses: { prompt: "input_tokens", output: "output_tokens", total: "total_tokens" }
}

const used = (promptTokens: number, completionTokens: number, cachedTokens = 0): TokenUsage => ({
  promptTokens,
  completionTokens,
  cachedTokens
})

/** Invalid counts: negative, fractional, of another type, or beyond any call. */
const nonsense = [-1, 1.5, "12", null, true, [7], {}, 1e13, 4e9, 2 ** 64, 1e308]

const cases = dialects.flatMap((dialect) => [
  { dialect, way: "whole", read: dialect.whole },
  { dialect, way: "stream", read: dialect.stream }
])

describe("usage", () => {
  it.effect.each(cases.map((one) => ({ ...one, name: `${one.dialect.name}, ${one.way}` })))(
    "$name: believes counts, zeros included, and no usage that lacks one",
    Effect.fnUntraced(function* ({ dialect, read }) {
      const { output, prompt, total } = names[dialect.name] ?? assert.fail()
      assert.deepStrictEqual(yield* read({ [prompt]: 9, [output]: 3 }), used(9, 3))
      assert.deepStrictEqual(yield* read({ [prompt]: 0, [output]: 0 }), used(0, 0))
      assert.isNull(yield* read({}))
      assert.isNull(yield* read({ [prompt]: 9 }), "an output that is not told is not zero")
      assert.isNull(yield* read({ [output]: 3 }))
      for (const value of nonsense) {
        assert.isNull(yield* read({ [prompt]: 9, [output]: value }), `output ${JSON.stringify(value)}`)
        assert.isNull(yield* read({ [prompt]: value, [output]: 3 }), `prompt ${JSON.stringify(value)}`)
        if (total !== undefined) {
          const rest = yield* read({ [prompt]: 9, [output]: value, [total]: 21 })
          assert.deepStrictEqual(rest, used(9, 12), `the rest of the total beside ${JSON.stringify(value)}`)
          assert.isNull(yield* read({ [prompt]: 9, [output]: value, [total]: 8 }), "a total below the prompt")
        }
      }
    })
  )

  const [openai, anthropic, gemini, bedrock, responses] = dialects
  const details = {
    completion_tokens_details: { reasoning_tokens: 900 },
    prompt_tokens_details: { cached_tokens: 900 }
  }
  it.effect.each([
    {
      name: "openai",
      dialect: openai,
      usage: { prompt_tokens: 9, completion_tokens: 3, ...details },
      expected: { ...used(9, 3, 9), reasoningTokens: 3 }
    },
    {
      name: "anthropic",
      dialect: anthropic,
      usage: { input_tokens: 9, output_tokens: 3, cache_read_input_tokens: 900 },
      expected: used(909, 3, 900)
    },
    {
      name: "gemini",
      dialect: gemini,
      usage: { promptTokenCount: 9, candidatesTokenCount: 3, cachedContentTokenCount: 900, thoughtsTokenCount: 5 },
      expected: { ...used(9, 8, 9), reasoningTokens: 5 }
    },
    {
      name: "bedrock",
      dialect: bedrock,
      usage: { inputTokens: 9, outputTokens: 3, cacheReadInputTokens: 900, cacheWriteInputTokens: -4 },
      expected: used(909, 3, 900)
    },
    {
      name: "responses",
      dialect: responses,
      usage: {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 900 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 900 }
      },
      expected: { ...used(9, 3, 9), reasoningTokens: 3 }
    }
  ])(
    "$name: parts are never more than what they are part of",
    Effect.fnUntraced(function* ({ dialect, expected, usage }) {
      if (dialect === undefined) return assert.fail()
      assert.deepStrictEqual(yield* dialect.whole(usage), expected)
      assert.deepStrictEqual(yield* dialect.stream(usage), expected)
    })
  )
})
