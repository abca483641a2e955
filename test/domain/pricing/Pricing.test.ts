import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Cost, costOf, type Pricing, type TokenUsage } from "../../../src/domain/pricing/Money.ts"
import { priceOf, pricesFor, priceUsage, savedCost } from "../../../src/domain/pricing/Pricing.ts"
import { isCallClass, rareClasses } from "../../../src/domain/pricing/UsageClass.ts"

const int = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const Count = int(2_000_000)
const Price = int(200_000_000)
const some = <S extends Schema.Top>(value: S) =>
  Schema.Struct(Object.fromEntries(rareClasses.map((name) => [name, Schema.optionalKey(value)])))

const given = {
  promptTokens: Count,
  completionTokens: Count,
  cachedTokens: Count,
  used: some(int(1_000_000)),
  tier: Schema.Literals(["", "flex", "priority", "turbo"]),
  prompt: Price,
  completion: Price,
  cached: Schema.NullOr(Price),
  priced: some(Price),
  percent: int(300)
}
type Given = { readonly [Name in keyof typeof given]: (typeof given)[Name]["Type"] }

const usageOf = ({ cachedTokens, completionTokens, promptTokens, tier, used }: Given): TokenUsage => ({
  promptTokens,
  completionTokens,
  cachedTokens,
  rare: used,
  ...(tier === "" ? {} : { serviceTier: tier })
})
const pricingOf = ({ cached, completion, priced, prompt }: Given): Pricing => ({
  prompt,
  completion,
  cachedPrompt: cached,
  rare: priced,
  serviceTiers: { priority: 1.75 }
})
const priced = (one: Given): Cost => priceUsage(usageOf(one), pricingOf(one), one.percent / 100)

it.prop("the lines are whole amounts of each class once, and their sum is the total", given, (one) => {
  const cost = priced(one)
  assert.strictEqual(
    cost.lines.reduce((sum, { nano }) => sum + nano, 0),
    cost.totalNano
  )
  assert.strictEqual(cost.promptNano + cost.completionNano - cost.cacheDiscountNano + cost.feesNano, cost.totalNano)
  assert.strictEqual(cost.totalNano + cost.markupNano, cost.billedNano)
  assert.strictEqual(new Set(cost.lines.map((line) => line.class)).size, cost.lines.length)
  for (const { nano, price, quantity } of cost.lines) {
    assert.strictEqual(nano, costOf(quantity, price))
    assert.isTrue(quantity > 0 && Number.isSafeInteger(nano) && nano >= 0)
  }
})

it.prop("no token is paid twice or left out", given, (one) => {
  const { lines } = priced(one)
  const tokens = (isOfCompletion: boolean) =>
    lines
      .filter((line) => !isCallClass(line.class) && line.class.startsWith("completion") === isOfCompletion)
      .reduce((sum, { quantity }) => sum + quantity, 0)
  assert.deepStrictEqual([tokens(false), tokens(true)], [one.promptTokens, one.completionTokens])
})

it.prop("a class without a price costs as much as any token of the offer, and its line says so", given, (one) => {
  const { cached, completion, prompt, tier } = one
  const known = rareClasses.flatMap((name) => (isCallClass(name) ? [] : (one.priced[name] ?? [])))
  const most = Math.max(prompt, completion, ...known)
  for (const line of priced(one).lines) {
    if (isCallClass(line.class)) continue
    if (tier === "turbo") assert.isTrue(line.assumed === true && line.price >= most, line.class)
    const hasPrice =
      ["prompt", "completion", "cached_prompt"].includes(line.class) ||
      Object.hasOwn(one.priced, line.class) ||
      (line.class === "cached_audio" && one.priced["prompt_audio"] !== undefined)
    if (tier === "" && !hasPrice) assert.deepStrictEqual([line.price, line.assumed], [most, true])
    if (tier === "" && hasPrice) assert.isUndefined(line.assumed)
    if (tier === "flex") assert.isTrue(line.assumed, "a cheaper tier without a price has the listed one")
    if (tier === "priority" && line.class === "prompt") assert.strictEqual(line.price, Math.round(prompt * 1.75))
    if (tier === "" && line.class === "cached_prompt") assert.strictEqual(line.price, cached ?? prompt)
  }
})

it.prop("an answer out of the cache bills nothing and shows as discount what it cost", given, (one) => {
  const saved = savedCost(usageOf(one), pricingOf(one))
  assert.deepStrictEqual([saved.totalNano, saved.markupNano, saved.billedNano, saved.feesNano], [0, 0, 0, 0])
  assert.strictEqual(saved.promptNano + saved.completionNano, saved.cacheDiscountNano)
  assert.isEmpty(saved.lines)
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

it("a cache write raises the prompt above its plain price", () => {
  const pricing = { prompt: 1_000_000, completion: 0, cachedPrompt: 100_000, rare: { cache_write: 1_250_000 } }
  const usage = { promptTokens: 30, completionTokens: 0, cachedTokens: 10, rare: { cache_write: 10 } }
  assert.deepInclude(priceUsage(usage, pricing, 0), {
    promptNano: 32_500,
    cacheDiscountNano: 9_000,
    totalNano: 23_500
  })
})

it("a fee is charged for each call, also of a model that is told to charge for the request", () => {
  const pricing = { prompt: 0, completion: 0, cachedPrompt: null, rare: { request: 5_000_000_000 } }
  const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 }
  assert.deepInclude(priceUsage(usage, pricing, 0.1), {
    feesNano: 5_000_000,
    totalNano: 5_000_000,
    billedNano: 5_500_000
  })
})

it("a model without any price is free, its searches too", () => {
  const free = { prompt: 0, completion: 0, cachedPrompt: null }
  const usage = { promptTokens: 9, completionTokens: 9, cachedTokens: 0, rare: { web_search: 4, completion_audio: 3 } }
  assert.strictEqual(priceUsage(usage, free, 0).totalNano, 0)
  assert.strictEqual(priceOf("web_search", { ...free, prompt: 1 }), 35_000_000_000)
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
  assert.deepInclude(pricesFor(pricing, 201), { prompt: 4_000_000, completion: 5_000_000, cachedPrompt: 1_000_000 })
  assert.deepInclude(pricesFor(pricing, 1), { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: 500_000 })
  const saved = savedCost({ promptTokens: 101, completionTokens: 10, cachedTokens: 0 }, pricing)
  assert.deepInclude(saved, { cacheDiscountNano: 202_000 + 30_000, billedNano: 0 })
})
