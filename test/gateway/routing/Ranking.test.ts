import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Candidate } from "../../../src/domain/Catalog.ts"
import { type ProviderPreferences } from "../../../src/domain/Chat.ts"
import {
  expectedCost,
  explorable,
  explored,
  likelyOutput,
  rank,
  type RankingInput
} from "../../../src/gateway/routing/Ranking.ts"
import { type StatsSnapshot } from "../../../src/gateway/health/StatsTable.ts"
import { candidateWith } from "../plans.ts"

const unseen: StatsSnapshot = { calls: 0, successRate: 1, firstTokenMs: null, wholeMs: null, throughputTps: null }

const inputWith = (input: Partial<RankingInput> & { readonly candidates: ReadonlyArray<Candidate> }): RankingInput => ({
  preferences: null,
  defaultSort: "price",
  kind: "chat",
  promptTokens: 100,
  outputTokens: null,
  choices: 1,
  streamed: true,
  stats: () => unseen,
  ...input
})

const slugs = (candidates: ReadonlyArray<Candidate>) => candidates.map(({ provider }) => provider.slug)
const preferring = (preferences: Partial<ProviderPreferences>): ProviderPreferences => ({
  allow_fallbacks: true,
  ...preferences
})

const names = ["alpha", "beta", "gamma", "delta", "epsilon"]
const Slug = Schema.Literals(["alpha", "beta", "gamma", "delta", "epsilon", "nobody"])
const Slugs = Schema.Array(Slug).check(Schema.isMaxLength(6))
const Amount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
const Given = Schema.Struct({
  offers: Schema.Array(
    Schema.Struct({ price: Amount, context: Amount, safe: Schema.Boolean, calls: Amount, latency: Amount })
  ).check(Schema.isMaxLength(5)),
  sort: Schema.NullOr(Schema.Literals(["price", "throughput", "latency"])),
  order: Schema.NullOr(Slugs),
  only: Schema.NullOr(Slugs),
  ignore: Schema.NullOr(Slugs),
  deny: Schema.Boolean,
  maxPrice: Schema.NullOr(Amount)
})

const inputOf = (given: typeof Given.Type): RankingInput => {
  const stats = new Map<string, StatsSnapshot>()
  const candidates = given.offers.map(({ calls, context, latency, price, safe }, at) => {
    const slug = names[at] ?? ""
    stats.set(slug, {
      calls,
      successRate: calls === 0 ? 1 : 1 / calls,
      firstTokenMs: latency === 0 ? null : { p50: latency, p99: latency },
      wholeMs: null,
      throughputTps: latency === 0 ? null : latency
    })
    return candidateWith(
      slug,
      {
        contextLength: context === 0 ? null : context * 40,
        pricing: { prompt: price * 1_000_000, completion: price * 1_000_000, cachedPrompt: null }
      },
      { dataPolicy: { training: !safe, retainsPrompts: !safe, retentionDays: null, zdr: safe } }
    )
  })
  return inputWith({
    candidates,
    preferences: preferring({
      sort: given.sort,
      order: given.order,
      only: given.only,
      ignore: given.ignore,
      data_collection: given.deny ? "deny" : "allow",
      max_price: given.maxPrice === null ? null : { prompt: given.maxPrice }
    }),
    stats: ({ provider }) => stats.get(provider.slug) ?? unseen
  })
}

it.prop("total: every candidate is ranked or excluded, once, with a reason", { given: Given }, ({ given }) => {
  const input = inputOf(given)
  const { excluded, ranked } = rank(input)
  assert.deepStrictEqual(
    [...slugs(ranked), ...excluded.map(({ slug }) => slug)].sort(),
    slugs(input.candidates).toSorted()
  )
  for (const { reason } of excluded) assert.notStrictEqual(reason, "")
})

it.prop(
  "deterministic: neither a second run nor the order of the candidates changes it",
  { given: Given },
  ({ given }) => {
    const input = inputOf(given)
    assert.deepStrictEqual(rank(input), rank(input))
    assert.deepStrictEqual(
      slugs(rank({ ...input, candidates: input.candidates.toReversed() }).ranked),
      slugs(rank(input).ranked)
    )
  }
)

it.prop("an excluded candidate is never ranked", { given: Given }, ({ given }) => {
  for (const { offer, provider } of rank(inputOf(given)).ranked) {
    const only: ReadonlyArray<string> = given.only ?? []
    if (only.length > 0) assert.include(only, provider.slug)
    assert.isFalse((given.ignore as ReadonlyArray<string> | null)?.includes(provider.slug) ?? false)
    if (given.deny) assert.isFalse(provider.dataPolicy.training || provider.dataPolicy.retainsPrompts)
    if (given.maxPrice !== null) assert.isAtMost(offer.pricing.prompt, given.maxPrice * 1_000_000)
    assert.isAtLeast(offer.contextLength ?? Infinity, 100)
  }
})

it.prop("`order` comes first, in its order; the rest by the axis", { given: Given }, ({ given }) => {
  const input = inputOf(given)
  const ranked = slugs(rank(input).ranked)
  const asked = [...new Set<string>(given.order ?? [])].filter((slug) => ranked.includes(slug))
  assert.deepStrictEqual(ranked.slice(0, asked.length), asked)
  const unordered = rank({ ...input, preferences: preferring({ ...input.preferences, order: null }) })
  assert.deepStrictEqual(
    ranked.slice(asked.length),
    slugs(unordered.ranked).filter((slug) => !asked.includes(slug))
  )
})

const at = (slug: string, prompt: number, completion = prompt) =>
  candidateWith(slug, { pricing: { prompt, completion, cachedPrompt: null } })

it("price: the cheapest for this request, not by list price", () => {
  const candidates = [at("alpha", 100_000, 9_000_000), at("beta", 1_000_000, 1_000_000)]
  const sorted = (promptTokens: number, outputTokens: number) =>
    slugs(rank(inputWith({ candidates, promptTokens, outputTokens })).ranked)
  assert.deepStrictEqual(sorted(10_000, 10), ["alpha", "beta"])
  assert.deepStrictEqual(sorted(10, 200), ["beta", "alpha"])
})

it("by default a provider that fails counts as more expensive; `sort: price` ignores failures", () => {
  const candidates = [at("alpha", 1_000_000), at("beta", 1_500_000)]
  const stats = ({ provider }: Candidate) => ({
    ...unseen,
    calls: 20,
    successRate: provider.slug === "alpha" ? 0.5 : 1
  })
  assert.deepStrictEqual(slugs(rank(inputWith({ candidates, stats })).ranked), ["beta", "alpha"])
  assert.deepStrictEqual(
    slugs(rank(inputWith({ candidates, stats, preferences: preferring({ sort: "price" }) })).ranked),
    ["alpha", "beta"]
  )
})

it("latency and throughput: unmeasured providers first, then the fastest", () => {
  const candidates = [at("alpha", 1), at("beta", 1), at("gamma", 1)]
  const speeds: Record<string, number | null> = { alpha: 10, beta: 50, gamma: null }
  const stats = ({ provider }: Candidate): StatsSnapshot => {
    const speed = speeds[provider.slug] ?? null
    return { ...unseen, firstTokenMs: speed === null ? null : { p50: speed, p99: speed }, throughputTps: speed }
  }
  const sorted = (sort: "latency" | "throughput") =>
    slugs(rank(inputWith({ candidates, stats, preferences: preferring({ sort }) })).ranked)
  assert.deepStrictEqual(sorted("latency"), ["gamma", "alpha", "beta"])
  assert.deepStrictEqual(sorted("throughput"), ["gamma", "beta", "alpha"])
})

it("whole replies are compared with whole replies; failures count as slower, only failures sort last", () => {
  const candidates = [at("alpha", 1), at("beta", 1), at("gamma", 1)]
  const stats = ({ provider }: Candidate): StatsSnapshot => {
    if (provider.slug === "gamma") return { ...unseen, calls: 3, successRate: 0 }
    const [first, whole, successRate] = provider.slug === "alpha" ? [10, 900, 0.3] : [20, 100, 1]
    return {
      ...unseen,
      calls: 99,
      successRate,
      firstTokenMs: { p50: first, p99: first },
      wholeMs: { p50: whole, p99: whole },
      throughputTps: 50
    }
  }
  const sorted = (sort: "latency" | "throughput", streamed: boolean) =>
    slugs(rank(inputWith({ candidates, stats, streamed, preferences: preferring({ sort }) })).ranked)
  assert.deepStrictEqual(sorted("latency", false), ["beta", "alpha", "gamma"])
  assert.deepStrictEqual(sorted("latency", true), ["beta", "alpha", "gamma"], "10 ms, but for three calls of ten")
  assert.deepStrictEqual(sorted("throughput", true), ["beta", "alpha", "gamma"])
})

it("one failure among few calls counts little", () => {
  const candidates = [at("alpha", 1_000_000), at("beta", 2_500_000)]
  const failedOnce = ({ provider }: Candidate) =>
    provider.slug === "alpha" ? { ...unseen, calls: 1, successRate: 0 } : unseen
  assert.deepStrictEqual(slugs(rank(inputWith({ candidates, stats: failedOnce })).ranked), ["alpha", "beta"])
})

const everyRoll = Array.from({ length: 1_000 }, (_, at) => at / 1_000)

it.prop(
  "exploring keeps every candidate, adds no excluded one, and rarely changes the first",
  { given: Given },
  ({ given }) => {
    const input = inputOf(given)
    const { ranked } = rank(input)
    const others = explorable(ranked, input)
    let changed = 0
    for (const roll of everyRoll) {
      const tried = explored(ranked, others, roll)
      if (tried !== ranked) changed++
      assert.deepStrictEqual(slugs(tried).toSorted(), slugs(ranked).toSorted())
    }
    assert.strictEqual(changed, others.length === 0 ? 0 : 20)
    const [first] = ranked
    const isNamed = first !== undefined && (given.order as ReadonlyArray<string> | null)?.includes(first.provider.slug)
    if (given.sort === "price" || isNamed === true) assert.deepStrictEqual(others, [])
  }
)

it("sorted by price, only cheaper candidates with failures are explored; sorted by speed, all", () => {
  const candidates = [at("alpha", 1_000_000), at("beta", 2_000_000), at("gamma", 3_000_000)]
  const stats = ({ provider }: Candidate) => ({ ...unseen, calls: 50, successRate: provider.slug === "alpha" ? 0 : 1 })
  const tried = (preferences: Partial<ProviderPreferences>) => {
    const input = inputWith({ candidates, stats, preferences: preferring(preferences) })
    return slugs(explorable(rank(input).ranked, input))
  }
  assert.deepStrictEqual(tried({}), ["alpha"])
  assert.deepStrictEqual(tried({ sort: "latency" }), ["gamma", "alpha"])
  assert.deepStrictEqual(tried({ sort: "price" }), [])
  assert.deepStrictEqual(tried({ allow_fallbacks: false }), [])
  assert.deepStrictEqual(tried({ order: ["beta"] }), [])
  assert.deepStrictEqual(slugs(explored(candidates, candidates.slice(1), 0.015)), ["gamma", "alpha", "beta"])
  assert.strictEqual(explored(candidates, candidates.slice(1), 0.02), candidates)
})

it("a chat is not for embedding models, nor embeddings for chat models", () => {
  const candidates = [candidateWith("alpha", { embeddings: true }), candidateWith("beta")]
  assert.deepStrictEqual(rank(inputWith({ candidates })).excluded, [
    { slug: "alpha", model: "test/small", reason: "not_a_chat_model" }
  ])
  assert.deepStrictEqual(rank(inputWith({ candidates, kind: "embeddings" })).excluded, [
    { slug: "beta", model: "test/small", reason: "not_an_embedding_model" }
  ])
})

it("a likely answer is as long as the client allows, up to the expected length of a choice", () => {
  assert.strictEqual(likelyOutput(10, 1), 10)
  assert.strictEqual(likelyOutput(null, 1), 256)
  assert.strictEqual(likelyOutput(100_000, 2), 512)
})

it("the expected cost is that of the prompt's own tier; an embedding has no output", () => {
  const pricing = {
    prompt: 1_000_000,
    completion: 2_000_000,
    cachedPrompt: null,
    tiers: [{ abovePromptTokens: 1_000, prompt: 3_000_000, completion: 4_000_000, cachedPrompt: null }]
  }
  const candidate = candidateWith("alpha", { pricing })
  assert.strictEqual(expectedCost(candidate, 1_000, 10), 1_000_000 + 20_000)
  assert.strictEqual(expectedCost(candidate, 1_001, 10), 3_003_000 + 40_000)
  assert.strictEqual(expectedCost(candidateWith("alpha", { pricing, embeddings: true }), 100, 10), 100_000)
})

it("max_price applies to the prompt's own tier", () => {
  const tiers = [{ abovePromptTokens: 50, prompt: 3_000_000, completion: 2_000_000, cachedPrompt: null }]
  const candidates = [candidateWith("alpha", { pricing: { ...at("alpha", 1_000_000).offer.pricing, tiers } })]
  const preferences = preferring({ max_price: { prompt: 2 } })
  assert.deepStrictEqual(slugs(rank(inputWith({ candidates, preferences, promptTokens: 50 })).ranked), ["alpha"])
  assert.strictEqual(rank(inputWith({ candidates, preferences, promptTokens: 51 })).excluded[0]?.reason, "max_price")
})

it("an empty list of providers is ignored", () => {
  const candidates = [candidateWith("alpha"), candidateWith("beta")]
  const ranked = (preferences: Partial<ProviderPreferences>) =>
    slugs(rank(inputWith({ candidates, preferences: preferring(preferences) })).ranked)
  assert.deepStrictEqual(ranked({ only: [], ignore: [], order: [] }), ["alpha", "beta"])
  assert.deepStrictEqual(ranked({ only: [], ignore: ["alpha"] }), ["beta"])
  assert.deepStrictEqual(ranked({ only: ["nobody"], ignore: [] }), [])
})

it("groups the candidates that rank equally", () => {
  const priced = (slug: string, prompt: number) =>
    candidateWith(slug, { pricing: { prompt: prompt * 1_000_000, completion: 2_000_000, cachedPrompt: null } })
  const candidates = [priced("alpha", 2), priced("beta", 1), priced("gamma", 1), priced("delta", 2), priced("eta", 3)]
  const sizes = (input: Partial<RankingInput>) => rank(inputWith({ candidates, ...input }))
  const byPrice = sizes({})
  assert.deepStrictEqual(slugs(byPrice.ranked), ["beta", "gamma", "alpha", "delta", "eta"])
  assert.deepStrictEqual(byPrice.groupSizes, [2, 2, 1])
  // An order separates what ranks equally without it.
  const inOrder = sizes({ preferences: preferring({ order: ["delta", "gamma"] }) })
  assert.deepStrictEqual(slugs(inOrder.ranked), ["delta", "gamma", "beta", "alpha", "eta"])
  assert.deepStrictEqual(inOrder.groupSizes, [1, 1, 1, 1, 1])
  // Providers without a measurement are equal; measured ones keep their ranking.
  assert.deepStrictEqual(sizes({ defaultSort: "latency" }).groupSizes, [5])
  const measured = { ...unseen, calls: 1, firstTokenMs: { p50: 5, p99: 5 } }
  const stats = ({ provider }: Candidate) => (provider.slug < "c" ? measured : unseen)
  assert.deepStrictEqual(sizes({ defaultSort: "latency", stats }).groupSizes, [3, 2])
  assert.deepStrictEqual(sizes({ candidates: candidates.slice(0, 1) }).groupSizes, [1])
  assert.deepStrictEqual(sizes({ candidates: [] }).groupSizes, [])
})
