/**
 * A stream that breaks and continues at another provider is one stream for its client. Its receipt
 * lists both calls.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Cut } from "../../src/providers/Provider.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, chunksOf, dataOf, delta, end, finish } from "./wire.ts"

const offers = (prompt: number) => ({
  models: [
    {
      ...scriptedOffer("test/small"),
      pricing: { prompt, completion: prompt, cachedPrompt: null },
      prefill: true
    }
  ]
})

const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      config: offers(1_000_000),
      models: {
        "test/small": {
          events: [delta({ role: "assistant", content: "" }), delta({ content: "Hel" }), new Cut({ detail: "reset" })]
        }
      }
    },
    {
      slug: "beta",
      config: offers(2_000_000),
      models: {
        "test/small": {
          events: [delta({ role: "assistant", content: "" }), delta({ content: "lo" }), finish(), end]
        }
      }
    }
  ]
})

it.effect("one id, one head, one role, one finish reason, no error; the receipt has both calls with their costs", () =>
  Effect.gen(function* () {
    const { chat, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const { headers, text } = yield* chat(ask("Hi", { stream: true }), { key: secret })
    const chunks = chunksOf(text)
    assert.strictEqual(new Set(chunks.map(({ id, model, provider }) => `${id} ${model} ${provider}`)).size, 1)
    const choices = chunks.flatMap(({ choices }) => choices)
    assert.strictEqual(
      choices.map(({ delta }) => (typeof delta["content"] === "string" ? delta["content"] : "")).join(""),
      "Hello"
    )
    assert.strictEqual(choices.filter(({ delta }) => "role" in delta).length, 1)
    assert.deepStrictEqual(
      choices.flatMap(({ finish_reason: reason }) => reason ?? []),
      ["stop"]
    )
    assert.isFalse(chunks.some((chunk) => "error" in chunk))
    assert.strictEqual(dataOf(text).at(-1), "[DONE]")
    const record = JSON.parse((yield* send(`/v1/generations/${headers.get("x-generation-id")}`, { key: secret })).text)
    assert.deepInclude(record, { provider: "beta", fallback_used: true, error_type: null, finish_reason: "stop" })
    assert.deepInclude(record.usage, { prompt_tokens: 10, completion_tokens: 3, estimated_cost_usd: 0.000018 })
    const [alpha, beta] = record.attempts
    assert.deepInclude(alpha, {
      provider: "alpha",
      status: "error",
      error_type: "stream_cut",
      charged: { prompt_tokens: 7, completion_tokens: 1, total_cost_usd: 0.000008 }
    })
    assert.deepInclude(beta, { provider: "beta", status: "ok" })
    assert.notProperty(beta, "charged")
  }).pipe(Effect.provide(app))
)
