/**
 * Anthropic tells the usage of the prompt when a stream begins. Where the stream has no end, its
 * prompt is charged at these figures, and only the output is counted.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Pricing } from "../../src/domain/pricing/Money.ts"
import { sse } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { behind, type Receipt, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

/** Claude Sonnet: 3 and 15 USD, 0.30 from the cache, 3.75 and 6 into it. */
const pricing: Pricing = {
  prompt: 3_000_000,
  completion: 15_000_000,
  cachedPrompt: 300_000,
  rare: { cache_write: 3_750_000, cache_write_1h: 6_000_000 }
}
const start = sse({
  type: "message_start",
  message: {
    id: "msg_1",
    usage: {
      input_tokens: 10,
      cache_read_input_tokens: 100_000,
      cache_creation_input_tokens: 3_000,
      cache_creation: { ephemeral_5m_input_tokens: 2_000, ephemeral_1h_input_tokens: 1_000 },
      output_tokens: 1
    }
  }
})
const text = sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "one two three" } })
const alpha = (does: Behaviour) => ({ alpha: { dialect: "anthropic" as const, pricing, does } })

/** 10 x 3 + 100,000 x 0.30 + 2,000 x 3.75 + 1,000 x 6 + 3 x 15 USD a million. */
const billed_usd = 0.043_575
const usage = { prompt_tokens: 103_010, cached_tokens: 100_000, completion_tokens: 3 }
const details = { cached_tokens: 100_000, cache_write_tokens: 3_000, audio_tokens: 0 }

const assertCharged = (receipt: Receipt | null | undefined): void => {
  assert.deepInclude(receipt, { usage_source: "counted" })
  assert.deepInclude(receipt?.usage, { ...usage, prompt_tokens_details: details })
  assert.strictEqual(receipt?.cost.billed_usd, billed_usd)
}

it.live("the client leaves", () =>
  Effect.gen(function* () {
    const gateway = yield* behind(upstream(), alpha({ chunks: [start, text], ending: "hang" }))
    const answer = yield* Effect.promise(() => gateway.open("stream"))
    yield* Effect.promise(() => answer.until("three"))
    answer.leave()
    const [receipt] = yield* gateway.receipts.pipe(Effect.repeat({ until: (receipts) => receipts.length > 0 }))
    assert.isTrue(receipt?.cancelled)
    assertCharged(receipt)
  })
)

it.live("the stream is cut", () =>
  Effect.gen(function* () {
    const gateway = yield* behind(upstream(), alpha({ chunks: [start, text], ending: "end" }))
    const reply = yield* gateway.ask("stream")
    assert.strictEqual(reply.error?.type, "provider_error")
    assert.strictEqual(reply.usage?.cost, billed_usd)
    assertCharged(reply.receipt)
  })
)
