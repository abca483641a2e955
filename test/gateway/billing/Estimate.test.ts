/** What is reserved for a request is never less than what the classes of its tokens can cost. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Pricing } from "../../../src/domain/pricing/Money.ts"
import { priceUsage } from "../../../src/domain/pricing/Pricing.ts"
import { rareClasses } from "../../../src/domain/pricing/UsageClass.ts"
import { estimateOf, promptCost } from "../../../src/gateway/billing/Estimate.ts"
import { hasVisibleOutput } from "../../../src/gateway/request/Reasoning.ts"
import { candidateWith, planWith, requestWith } from "../plans.ts"

const int = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const Price = int(50_000_000)
/** Parts of a whole, in thousandths. */
const Share = int(1_000)

const given = {
  prompt: Price,
  completion: Price,
  cached: Schema.NullOr(Price),
  rare: Schema.Struct(Object.fromEntries(rareClasses.map((name) => [name, Schema.optionalKey(Price)]))),
  flex: Schema.Literals([0.5, 1, 2]),
  dialect: Schema.Literals(["openai", "anthropic"]),
  ttl: Schema.Literals(["none", "5m", "1h"]),
  place: Schema.Literals(["request", "message", "part", "tool"]),
  soundCharacters: int(100_000),
  media: Schema.Literals(["text", "audio", "image"]),
  tier: Schema.Literals(["", "flex", "default"]),
  promptTokens: Schema.Int.check(Schema.isBetween({ minimum: 1_000, maximum: 200_000 })),
  outputTokens: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 16_000 })),
  written: Share,
  read: Share,
  spoken: Share
}

const control = (ttl: string) => (ttl === "none" ? {} : { cache_control: { type: "ephemeral", ttl } })

it.prop("for every usage that the request can lead to", given, (one) => {
  const { dialect, media, place, promptTokens, ttl, tier } = one
  const at = (here: string) => (place === here ? control(ttl) : {})
  const request = requestWith({
    ...at("request"),
    messages: [
      { role: "system", content: "You are terse.", ...at("message") },
      {
        role: "user",
        content: [
          { type: "text", text: "Hi", ...at("part") },
          { type: "input_audio", input_audio: { data: "a".repeat(one.soundCharacters), format: "wav" } }
        ]
      }
    ],
    tools: [{ type: "function", function: { name: "f" }, ...at("tool") }],
    modalities: ["text", media],
    ...(tier === "" ? {} : { service_tier: tier })
  })
  const pricing: Pricing = {
    prompt: one.prompt,
    completion: one.completion,
    cachedPrompt: one.cached === null ? null : Math.min(one.cached, one.prompt),
    rare: one.rare,
    serviceTiers: { flex: one.flex }
  }
  const candidate = candidateWith("alpha", { pricing }, { dialect })
  const plan = planWith({ request, ranked: [candidate], promptTokens, outputTokens: one.outputTokens })

  const sound = Math.min(promptTokens, Math.ceil(one.soundCharacters / 128))
  const text = promptTokens - sound
  const written = Math.floor((text * one.written) / 1_000)
  const writes =
    ttl === "1h"
      ? { cache_write_1h: written }
      : ttl === "5m" || (dialect === "openai" && one.rare["cache_write"] !== undefined)
        ? { cache_write: written }
        : {}
  const spoken = Math.floor((one.outputTokens * one.spoken) / 1_000)
  const usage = {
    promptTokens,
    completionTokens: one.outputTokens,
    cachedTokens: Math.floor(((text - written) * one.read) / 1_000),
    rare: { ...writes, prompt_audio: sound, ...(media === "text" ? {} : { [`completion_${media}`]: spoken }) },
    ...(tier === "flex" ? { serviceTier: tier } : {})
  }
  const cost = priceUsage(usage, pricing, 0.1)
  const { amountNano, promptNano } = estimateOf(plan, 0.1)
  // Each line is rounded by itself.
  assert.isAtLeast(amountNano + cost.lines.length, cost.billedNano)
  assert.isAtLeast(promptCost(plan, candidate, promptTokens, 0.1), Math.floor(promptNano))
})

describe("an estimate is no higher than it must be", () => {
  const pricing = {
    prompt: 1_000_000,
    completion: 0,
    cachedPrompt: null,
    rare: { cache_write: 1_250_000, cache_write_1h: 2_000_000, prompt_audio: 9_000_000, request: 1_000_000_000 }
  }
  const costOfPrompt = (request: object, dialect: "openai" | "anthropic" = "anthropic") =>
    estimateOf(
      planWith({
        request: requestWith(request),
        ranked: [candidateWith("alpha", { pricing }, { dialect })],
        promptTokens: 1_000
      }),
      0
    ).promptNano - 1_000_000

  it("plain prompts, cache writes and audio have their own prices, the request its fee", () => {
    assert.strictEqual(costOfPrompt({}), 1_000_000)
    assert.strictEqual(costOfPrompt({ cache_control: { type: "ephemeral" } }), 1_250_000)
    assert.strictEqual(costOfPrompt({ cache_control: { type: "ephemeral", ttl: "1h" } }), 2_000_000)
    assert.strictEqual(costOfPrompt({}, "openai"), 1_250_000, "OpenAI's models write without being asked")
    const sound = { type: "input_audio", input_audio: { data: "a".repeat(12_800), format: "wav" } }
    const messages = [{ role: "user", content: [sound] }]
    assert.strictEqual(costOfPrompt({ messages }), 900_000 + 900_000)
  })

  it("audio and images are not seen in a stream", () => {
    const visible = (modalities: ReadonlyArray<string>) =>
      hasVisibleOutput(planWith({ request: requestWith({ modalities }) }))
    assert.isTrue(visible(["text"]))
    assert.isFalse(visible(["text", "audio"]))
    assert.isFalse(visible(["image", "text"]))
  })
})
