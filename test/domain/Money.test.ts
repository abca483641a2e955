import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  costOf,
  monthEndMs,
  monthOf,
  nanoFromUsd,
  picoFromUsdPerMillion,
  pricesFor,
  priceUsage,
  savedCost,
  usdFromNano,
  usdPerMillionFromPico,
  usdText
} from "../../src/domain/Money.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000_000 }))
const Price = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200_000_000 }))
const Markup = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))

const usage = { promptTokens: Count, completionTokens: Count, cachedTokens: Count }
const prices = { prompt: Price, completion: Price, cached: Price }

it.prop(
  "prompt + completion - discount = total, total + markup = billed, all integers",
  { ...usage, ...prices, percent: Markup },
  (given) => {
    const { cached, completion, percent, prompt, ...tokens } = given
    const cost = priceUsage(tokens, { prompt, completion, cachedPrompt: cached }, percent / 100)
    assert.strictEqual(cost.promptNano + cost.completionNano - cost.cacheDiscountNano, cost.totalNano)
    assert.strictEqual(cost.totalNano + cost.markupNano, cost.billedNano)
    for (const amount of Object.values(cost)) assert.isTrue(Number.isSafeInteger(amount) && amount >= 0, String(amount))
  }
)

it.prop(
  "each product is rounded once: never more than half a nano-USD from the exact one",
  { tokens: Count, price: Price },
  ({ price, tokens }) => {
    const exact = BigInt(tokens) * BigInt(price)
    const off = BigInt(costOf(tokens, price)) * 1000n - exact
    assert.isTrue(off <= 500n && off >= -500n, `${off}`)
  }
)

it.prop(
  "cached tokens are paid once: their prompt price less the discount is the cache price",
  { ...usage, ...prices },
  (given) => {
    const { cached, completion, prompt, ...tokens } = given
    const cost = priceUsage(tokens, { prompt, completion, cachedPrompt: cached }, 0)
    const counted = Math.min(tokens.cachedTokens, tokens.promptTokens)
    const paid = costOf(counted, prompt) - cost.cacheDiscountNano
    assert.strictEqual(
      paid,
      cached < prompt ? Math.min(costOf(counted, cached), costOf(counted, prompt)) : costOf(counted, prompt)
    )
  }
)

it.prop(
  "an answer out of the cache bills nothing and shows as discount what it cost",
  { ...usage, ...prices },
  (given) => {
    const { cached, completion, prompt, ...tokens } = given
    const saved = savedCost(tokens, { prompt, completion, cachedPrompt: cached })
    assert.deepStrictEqual([saved.totalNano, saved.markupNano, saved.billedNano], [0, 0, 0])
    assert.strictEqual(saved.promptNano + saved.completionNano, saved.cacheDiscountNano)
  }
)

it.prop(
  "USD and back",
  { nano: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000_000_000_000_000 })) },
  ({ nano }) => {
    assert.strictEqual(nanoFromUsd(usdFromNano(nano)), nano)
  }
)

it("an amount in a text is a plain decimal", () => {
  const amounts: ReadonlyArray<readonly [number, string]> = [
    [0, "$0"],
    [1, "$0.000000001"],
    [100, "$0.0000001"],
    [10_000, "$0.00001"],
    [5_000_000_000, "$5"],
    [10_000_000_000, "$10"],
    [1_234_500_000_000, "$1234.5"],
    [1_000_000_000_000_000, "$1000000"]
  ]
  for (const [nano, text] of amounts) assert.strictEqual(usdText(nano), text)
})

it("prices as lists write them", () => {
  assert.strictEqual(picoFromUsdPerMillion(0.075), 75_000)
  assert.strictEqual(usdPerMillionFromPico(75_000), 0.075)
  assert.strictEqual(costOf(1_000_000, picoFromUsdPerMillion(0.15)), nanoFromUsd(0.15))
  assert.strictEqual(costOf(1, 500), 1, "half a nano-USD rounds up")
  assert.strictEqual(costOf(1, 499), 0)
})

it("a provider without a cache price gives no discount", () => {
  const cost = priceUsage(
    { promptTokens: 10, completionTokens: 0, cachedTokens: 10 },
    { prompt: 1_000_000, completion: 0, cachedPrompt: null },
    0
  )
  assert.deepStrictEqual([cost.cacheDiscountNano, cost.billedNano], [0, 10_000])
})

it("more cached tokens than prompt tokens are not believed", () => {
  const pricing = { prompt: 1_000_000, completion: 0, cachedPrompt: 100_000 }
  const cost = priceUsage({ promptTokens: 10, completionTokens: 0, cachedTokens: 99 }, pricing, 0)
  assert.strictEqual(cost.billedNano, 1_000)
})

it("months are UTC calendar months", () => {
  const end = Date.UTC(2026, 11, 1)
  assert.deepStrictEqual([monthOf(end - 1), monthOf(end)], ["2026-11", "2026-12"])
  assert.strictEqual(monthEndMs(end - 1), end)
  assert.strictEqual(monthEndMs(Date.UTC(2026, 11, 31, 23, 59, 59, 999)), Date.UTC(2027, 0, 1))
  assert.strictEqual(monthEndMs(end), Date.UTC(2027, 0, 1))
})

it("a long prompt's tier prices all of the request, its cached tokens too", () => {
  const pricing = {
    prompt: 1_000_000,
    completion: 2_000_000,
    cachedPrompt: 500_000,
    tiers: [
      { abovePromptTokens: 100, prompt: 2_000_000, completion: 3_000_000, cachedPrompt: null },
      { abovePromptTokens: 200, prompt: 4_000_000, completion: 5_000_000, cachedPrompt: 1_000_000 }
    ]
  }
  const costs = [100, 101, 200, 201].map(
    (promptTokens) => priceUsage({ promptTokens, completionTokens: 10, cachedTokens: 100 }, pricing, 0).totalNano
  )
  assert.deepStrictEqual(costs, [50_000 + 20_000, 202_000 + 30_000, 400_000 + 30_000, 504_000 + 50_000])
  assert.deepStrictEqual(pricesFor(pricing, 201), { prompt: 4_000_000, completion: 5_000_000, cachedPrompt: 1_000_000 })
  assert.deepStrictEqual(pricesFor(pricing, 1), { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: 500_000 })
  const saved = savedCost({ promptTokens: 101, completionTokens: 10, cachedTokens: 0 }, pricing)
  assert.deepInclude(saved, { cacheDiscountNano: 202_000 + 30_000, billedNano: 0 })
})
