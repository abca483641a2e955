/** Options that cost more than tokens: a key with a budget cannot use them, other keys can. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { nanoFromUsd } from "../../../src/domain/pricing/Money.ts"
import { saying } from "../scripts.ts"
import { gatewayOn, ran, recordOf } from "../streams.ts"

const tool = (type?: string) => ({ ...(type === undefined ? {} : { type }), function: { name: "f" } })

const asked = (request: object, monthlyBudgetNano: number | null = nanoFromUsd(1)) =>
  Effect.scoped(ran({ key: { monthlyBudgetNano }, request: { ...request, stream: false } }))

it.effect.each<readonly [string, object]>([
  ["service_tier", { service_tier: "priority" }],
  ["best_of", { best_of: 5 }],
  ["web_search_options", { web_search_options: {} }],
  ["plugins", { plugins: [{ id: "web" }] }],
  ["tools[1].type", { tools: [tool("function"), { type: "web_search" }] }]
])(
  "%s",
  Effect.fnUntraced(function* ([param, request]) {
    const { heard, layer } = gatewayOn({ alpha: { reply: saying("Hello") } })
    const error = yield* Effect.flip(asked(request)).pipe(Effect.provide(layer))
    assert.deepInclude(error.reason, { _tag: "InvalidRequest", param, code: "unsupported_parameter" })
    assert.isEmpty(heard.calls)
    yield* asked(request, null).pipe(Effect.provide(layer))
    assert.deepStrictEqual(heard.calls, ["alpha"])
  })
)

it.effect("options at the listed price are allowed", () => {
  const { heard, layer } = gatewayOn({ alpha: { reply: saying("Hello") } })
  return Effect.gen(function* () {
    for (const service_tier of ["auto", "default", "flex"]) yield* asked({ service_tier })
    yield* asked({ best_of: 2, n: 2, plugins: [], web_search_options: null, tools: [tool("function"), tool()] })
    assert.lengthOf(heard.calls, 4)
  }).pipe(Effect.provide(layer))
})

const tiered = (serviceTiers: Readonly<Record<string, number>>) => ({
  offer: { pricing: { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: null, serviceTiers } }
})
const fast = saying("Hello", { promptTokens: 10, completionTokens: 5, cachedTokens: 0, serviceTier: "priority" })

it.effect("a tier with a price is allowed, reserved and charged at it", () => {
  const { layer } = gatewayOn({ alpha: { reply: fast } }, tiered({ priority: 2 }))
  return Effect.gen(function* () {
    const { metadata } = yield* asked({ service_tier: "Priority", max_tokens: 100 })
    const { cost, price, reservation, usage } = yield* recordOf(metadata.generationId)
    // Seven counted tokens at 2 USD a million and a hundred at 4.
    assert.strictEqual(reservation.reservedNano, 14_000 + 400_000)
    assert.deepStrictEqual(price, { prompt: 2_000_000, completion: 4_000_000, cachedPrompt: null })
    assert.deepStrictEqual(cost.lines, [
      { class: "prompt", quantity: 10, price: 2_000_000, nano: 20_000 },
      { class: "completion", quantity: 5, price: 4_000_000, nano: 20_000 }
    ])
    assert.strictEqual(usage.serviceTier, "priority")
  }).pipe(Effect.provide(layer))
})

it.effect("a tier without a price is charged at the dearest price known, for keys without a budget", () => {
  const { layer } = gatewayOn({ alpha: { reply: fast } }, tiered({ turbo: 3 }))
  return Effect.gen(function* () {
    const { metadata } = yield* asked({ service_tier: "priority" }, null)
    const { cost } = yield* recordOf(metadata.generationId)
    assert.deepStrictEqual(cost.lines, [
      { class: "prompt", quantity: 10, price: 6_000_000, nano: 60_000, assumed: true },
      { class: "completion", quantity: 5, price: 6_000_000, nano: 30_000, assumed: true }
    ])
  }).pipe(Effect.provide(layer))
})

const searching = (dialect: "openai" | "gemini") =>
  gatewayOn(
    { alpha: { reply: saying("Hello") } },
    {
      offer: {
        pricing: { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: null, rare: { web_search: 10_000_000_000 } }
      },
      config: { dialect }
    }
  )

it.effect("a search that the request asks for is charged once, if the usage does not count it", () =>
  Effect.gen(function* () {
    const { completed, metadata } = yield* asked({ web_search_options: {} }, null)
    const { cost } = yield* recordOf(metadata.generationId)
    assert.deepInclude(cost, { feesNano: 10_000_000, totalNano: 10_020_000 })
    assert.deepStrictEqual(cost.lines.at(-1), {
      class: "web_search",
      quantity: 1,
      price: 10_000_000_000,
      nano: 10_000_000
    })
    assert.deepInclude(completed._tag === "Reply" ? completed.usage : {}, {
      cost: 0.01002,
      estimated_cost_usd: 0.01002
    })
    const plain = yield* asked({}, null)
    assert.strictEqual((yield* recordOf(plain.metadata.generationId)).cost.feesNano, 0)
  }).pipe(Effect.provide(searching("openai").layer))
)

it.effect("a search that the dialect does not pass on is not charged", () =>
  Effect.gen(function* () {
    const { metadata } = yield* asked({ web_search_options: {} }, null)
    assert.strictEqual((yield* recordOf(metadata.generationId)).cost.feesNano, 0)
  }).pipe(Effect.provide(searching("gemini").layer))
)
