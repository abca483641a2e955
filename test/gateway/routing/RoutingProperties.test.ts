/**
 * Routing from the request to the plan. For any preferences, statistics, whitelists and fallback
 * models it is total, reproducible for a seed, and never admits a provider that a filter excludes.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Random, Schema } from "effect"
import { deniesCollection } from "../../../src/domain/Catalog.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { allowsModel } from "../../../src/domain/Key.ts"
import { Catalog } from "../../../src/gateway/routing/Catalog.ts"
import { chatPlanInput } from "../../../src/gateway/chat/ChatPlanInput.ts"
import { Planner } from "../../../src/gateway/chat/Planner.ts"
import { ProviderStats } from "../../../src/gateway/health/ProviderStats.ts"
import { layerScripted } from "../../../src/testing/ScriptedProvider.ts"
import { scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { admittedWith, keyWith, requestWith } from "../plans.ts"
import { PromptTokens } from "../../../src/domain/PromptTokens.ts"

const slugs = ["alpha", "beta", "gamma", "delta"] as const
const models = ["test/small", "test/large", "other/one"] as const

const Slugs = Schema.NullOr(Schema.Array(Schema.Literals(slugs)).check(Schema.isMaxLength(4)))
const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
const Given = Schema.Struct({
  providers: Schema.Array(
    Schema.Struct({ safe: Schema.Boolean, price: Small, calls: Small, ok: Schema.Boolean })
  ).check(Schema.isMinLength(4), Schema.isMaxLength(4)),
  sort: Schema.NullOr(Schema.Literals(["price", "throughput", "latency"])),
  defaultSort: Schema.Literals(["price", "throughput", "latency"]),
  order: Slugs,
  only: Slugs,
  ignore: Slugs,
  deny: Schema.Boolean,
  fallbacks: Schema.Boolean,
  maxPrice: Schema.NullOr(Small),
  fallbackModels: Schema.Array(Schema.Literals([...models, "no/such"])).check(Schema.isMaxLength(3)),
  allowed: Schema.NullOr(
    Schema.Array(Schema.Literals(["test/small", "test/*", "other/one"])).check(Schema.isMaxLength(2))
  )
})
type Given = typeof Given.Type

const limits = { requestsPerMinute: 1, tokensPerMinute: 1, concurrency: 1 }

/** The plan of a request, with the given providers and statistics. */
const planOf = (given: Given, seed: number) => {
  const providers = slugs.map((slug, at) => {
    const { price = 0, safe = false } = given.providers[at] ?? {}
    const pricing = { prompt: price * 1_000_000, completion: price * 1_000_000, cachedPrompt: null }
    return {
      slug,
      config: {
        dataPolicy: { training: !safe, retainsPrompts: !safe, retentionDays: null, zdr: safe },
        models: models.map((id) => ({ ...scriptedOffer(id), pricing }))
      },
      models: {}
    }
  })
  const layer = Planner.layer({ defaultSort: given.defaultSort }).pipe(
    Layer.provideMerge(
      Layer.mergeAll(Catalog.layer, ProviderStats.layer, Ids.layerSequence).pipe(
        Layer.provide(layerScripted(providers))
      )
    )
  )
  return Effect.gen(function* () {
    const stats = yield* ProviderStats
    for (const [at, slug] of slugs.entries()) {
      const { calls = 0, ok = true } = given.providers[at] ?? {}
      for (let count = 0; count < calls; count++) {
        stats.record(slug, "test/small", { ok, latencyMs: calls * 10, streamed: true })
        if (ok) stats.recordSpeed(slug, "test/small", calls * 10)
      }
    }
    const { allowed, deny, fallbackModels, fallbacks, ignore, maxPrice, only, order, sort } = given
    return yield* (yield* Planner).begin(
      chatPlanInput(
        {
          request: requestWith({
            stream: true,
            provider: {
              sort,
              order,
              only,
              ignore,
              allow_fallbacks: fallbacks,
              data_collection: deny ? "deny" : "allow",
              max_price: maxPrice === null ? null : { prompt: maxPrice }
            }
          }),
          caller: { key: keyWith({ allowedModels: allowed }), limits }
        },
        fallbackModels,
        PromptTokens.counted(7)
      ),
      admittedWith()
    )
  }).pipe(Random.withSeed(seed), Effect.provide(layer))
}

/** A hundred cases with five seeds each, so that some explore. */
const seeds = [1, 2, 3, 4, 5]

it.effect.prop(
  "no candidate that a filter, a whitelist or a data policy excludes, fallback models included",
  { given: Given },
  ({ given }) =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        const plan = yield* planOf(given, seed)
        for (const { offer, provider } of plan.ranked) {
          if (given.only !== null && given.only.length > 0)
            assert.isTrue(given.only.some((slug) => slug === provider.slug))
          assert.isFalse(given.ignore?.some((slug) => slug === provider.slug) ?? false)
          if (given.deny) assert.isTrue(deniesCollection(provider.dataPolicy))
          if (given.maxPrice !== null) assert.isAtMost(offer.pricing.prompt, given.maxPrice * 1_000_000)
          // The whitelist of the first model is a policy, which runs before the router.
          if (offer.id !== "test/small") assert.isTrue(allowsModel(given.allowed, offer.id))
        }
      }
    })
)

it.effect.prop(
  "every provider of every requested model is ranked or excluded with a reason; a plan without candidates has a reason",
  { given: Given },
  ({ given }) =>
    Effect.gen(function* () {
      const { excluded, groupSizes, ranked, unroutable } = yield* planOf(given, 1)
      const grouped = groupSizes.reduce((sum, size) => sum + size, 0)
      // An explored candidate comes first, so the groups no longer hold.
      if (groupSizes.length > 0) assert.strictEqual(grouped, ranked.length)
      const seen = [
        ...ranked.map(({ offer, provider }) => `${provider.slug} ${offer.id}`),
        ...excluded.map(({ model, slug }) => `${slug} ${model}`)
      ]
      const wanted = ["test/small", ...new Set(given.fallbackModels)].flatMap((model, at) =>
        at > 0 && (model === "no/such" || !allowsModel(given.allowed, model))
          ? [`* ${model}`]
          : slugs.map((slug) => `${slug} ${model}`)
      )
      assert.deepStrictEqual(seen.toSorted(), wanted.toSorted())
      for (const { reason } of excluded) assert.isNotEmpty(reason)
      assert.strictEqual(unroutable === null, ranked.length > 0)
    })
)

it.effect.prop("the same for the same seed", { given: Given }, ({ given }) =>
  Effect.gen(function* () {
    for (const seed of seeds) {
      const [first, second] = [yield* planOf(given, seed), yield* planOf(given, seed)]
      assert.deepStrictEqual(first.ranked, second.ranked)
      assert.deepStrictEqual(first.excluded, second.excluded)
    }
  })
)
