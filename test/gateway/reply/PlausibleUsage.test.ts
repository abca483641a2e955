/**
 * Usage that is not plausible for the request: the gateway's count is billed, and the operator is
 * told.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type TokenUsage } from "../../../src/domain/pricing/Money.ts"
import { plausibleUsage } from "../../../src/gateway/reply/PlausibleUsage.ts"
import { candidateWith, planWith, requestWith } from "../plans.ts"
import { ending, piece, saying, stop } from "../scripts.ts"
import { gatewayOn, ran, recordOf, streamed } from "../streams.ts"

const used = (promptTokens: number, completionTokens: number): TokenUsage => ({
  promptTokens,
  completionTokens,
  cachedTokens: 0
})

describe("plausible usage", () => {
  const believes = (
    usage: TokenUsage,
    {
      affordableTokens = null,
      offer = {},
      plan = {}
    }: {
      affordableTokens?: number | null
      offer?: Parameters<typeof candidateWith>[1]
      plan?: Parameters<typeof planWith>[0]
    }
  ) => plausibleUsage(planWith(plan), affordableTokens, candidateWith("alpha", offer).offer, usage) !== null

  it("limits output to the limit that was sent, times the choices", () => {
    assert.isTrue(believes(used(10, 100), { plan: { outputTokens: 100 } }))
    assert.isTrue(believes(used(10, 160), { plan: { outputTokens: 100 } }), "marks of the format")
    assert.isFalse(believes(used(10, 16_384), { plan: { outputTokens: 100 } }))
    assert.isFalse(believes(used(10, 16_384), { affordableTokens: 61 }), "what the budget left")
    assert.isTrue(believes(used(10, 16_384), {}), "the model's own limit")
    assert.isFalse(believes(used(10, 20_000), {}))
    assert.isTrue(believes(used(10, 3_000), { plan: { outputTokens: 3_000, choices: 3 } }))
    assert.isFalse(believes(used(10, 9_000), { plan: { outputTokens: 3_000, choices: 3 } }))
    const unknown = { maxCompletionTokens: null, contextLength: null }
    assert.isTrue(believes(used(10, 128_000), { offer: unknown }))
    assert.isFalse(believes(used(10, 4_294_967), { offer: unknown }))
  })

  it("allows reasoning in addition to the limit", () => {
    const short = { outputTokens: 100 }
    assert.isTrue(believes(used(10, 16_384), { offer: { hidesReasoning: true }, plan: short }))
    assert.isFalse(believes(used(10, 40_000), { offer: { hidesReasoning: true }, plan: short }))
    const thinking = requestWith({ thinking: { type: "enabled" } } as object)
    assert.isTrue(believes(used(10, 16_384), { plan: { ...short, request: thinking } }))
    const disabled = requestWith({ thinking: { type: "disabled" } } as object)
    assert.isFalse(believes(used(10, 16_384), { plan: { ...short, request: disabled } }))
  })

  it("limits the prompt to the model's context", () => {
    assert.isTrue(believes(used(130_000, 5), {}))
    assert.isFalse(believes(used(1_000_000, 5), {}))
    assert.isTrue(believes(used(1_000_000, 5), { plan: { promptTokens: 500_000 } }), "a prompt that is as long")
  })
})

describe("implausible usage", () => {
  const absurd = used(10, 900_000_000)
  const { layer } = gatewayOn({
    alpha: { reply: saying("one two three", absurd), events: [piece("one two"), piece(" three"), stop, ending(absurd)] }
  })

  it.effect("is replaced by the gateway's count for a whole reply", () =>
    Effect.gen(function* () {
      const { completed, metadata } = yield* ran({ request: { stream: false } })
      assert.deepInclude(completed._tag === "Reply" ? completed.usage : {}, {
        prompt_tokens: 7,
        completion_tokens: 3,
        estimated_cost_usd: 0.000013
      })
      assert.strictEqual((yield* recordOf(metadata.generationId)).usageSource, "counted")
      const hit = yield* ran({ request: { stream: false } })
      assert.deepInclude(hit.completed._tag === "Reply" ? hit.completed.usage : {}, {
        completion_tokens: 3,
        cache_discount_usd: 0.000013,
        cache_hit: true
      })
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("is replaced for a stream too", () =>
    Effect.gen(function* () {
      const { record, usage } = yield* streamed()
      assert.deepInclude(usage, { prompt_tokens: 7, completion_tokens: 3, estimated_cost_usd: 0.000013 })
      assert.strictEqual(record.usageSource, "counted")
    }).pipe(Effect.provide(layer))
  )
})
