/** Exploration in the real order: rare, reproducible, never in a preview, never beyond a filter. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Random } from "effect"
import { type ProviderPreferences } from "../../../src/domain/Chat.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { Catalog } from "../../../src/gateway/routing/Catalog.ts"
import { chatPlanInput } from "../../../src/gateway/chat/ChatPlanInput.ts"
import { Planner } from "../../../src/gateway/chat/Planner.ts"
import { ProviderStats } from "../../../src/gateway/health/ProviderStats.ts"
import { admittedWith, keyWith, requestWith } from "../plans.ts"
import { layerScripted, scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"
import { saying, scripted } from "../scripts.ts"
import { PromptTokens } from "../../../src/domain/PromptTokens.ts"

const good = { reply: saying("Hello") }
const layer = Planner.layer({ defaultSort: "price" }).pipe(
  Layer.provideMerge(
    Layer.mergeAll(Catalog.layer, ProviderStats.layer, Ids.layerSequence).pipe(
      Layer.provideMerge(scripted({ alpha: good, beta: good, gamma: good }).layer)
    )
  )
)

const limits = { requestsPerMinute: 1, tokensPerMinute: 1, concurrency: 1 }
const intentWith = (provider: Partial<ProviderPreferences>) =>
  chatPlanInput(
    {
      request: requestWith({ stream: true, provider: { allow_fallbacks: true, ...provider } }),
      caller: { key: keyWith(), limits }
    },
    [],
    PromptTokens.counted(7)
  )

/** The first candidate in each of a thousand orders. */
const firsts = (provider: Partial<ProviderPreferences>, seed: string) =>
  Effect.gen(function* () {
    const intake = yield* Planner
    const found: Array<string> = []
    for (let count = 0; count < 1_000; count++) {
      const { excluded, ranked } = yield* intake.begin(intentWith(provider), admittedWith())
      assert.strictEqual(ranked.length + excluded.length, 3)
      found.push(ranked[0]?.provider.slug ?? "")
    }
    return found
  }).pipe(Random.withSeed(seed))

const measured = Effect.map(ProviderStats, (stats) => {
  for (const [at, slug] of ["alpha", "beta", "gamma"].entries()) {
    for (let count = 0; count < 50; count++) {
      stats.record(slug, "test/small", { ok: true, latencyMs: 100 * (at + 1), streamed: true })
    }
  }
})

it.effect("sorted by speed, one request in fifty tries another; the same ones for the same seed", () =>
  Effect.gen(function* () {
    yield* measured
    const found = yield* firsts({ sort: "latency" }, "a seed")
    const tried = found.filter((slug) => slug !== "alpha")
    assert.isTrue(tried.length > 5 && tried.length < 50, String(tried.length))
    assert.deepStrictEqual([...new Set(tried)].sort(), ["beta", "gamma"])
    assert.deepStrictEqual(yield* firsts({ sort: "latency" }, "a seed"), found)
    assert.notDeepEqual(yield* firsts({ sort: "latency" }, "another"), found)
    const route = (yield* Planner).route(intentWith({ sort: "latency" }))
    assert.strictEqual(route.ranked[0]?.provider.slug, "alpha")
  }).pipe(Effect.provide(layer))
)

it.effect("an excluded provider is never tried, and none is explored if the request sets the order", () =>
  Effect.gen(function* () {
    yield* measured
    const set = (found: ReadonlyArray<string>) => [...new Set(found)].sort()
    assert.deepStrictEqual(set(yield* firsts({ sort: "latency", ignore: ["beta"] }, "x")), ["alpha", "gamma"])
    assert.deepStrictEqual(set(yield* firsts({ sort: "latency", allow_fallbacks: false }, "x")), ["alpha"])
    assert.deepStrictEqual(set(yield* firsts({ sort: "latency", order: ["beta"] }, "x")), ["beta"])
    assert.deepStrictEqual(set(yield* firsts({ sort: "price" }, "x")), ["alpha"])
    assert.deepStrictEqual(set(yield* firsts({}, "x")), ["alpha"], "nobody cheaper is behind")
  }).pipe(Effect.provide(layer))
)

it.effect("`order` without fallbacks names all candidates; an unknown name is reported", () =>
  Effect.gen(function* () {
    const { route } = yield* Planner
    const slugs = (provider: Partial<ProviderPreferences>) =>
      route(intentWith({ allow_fallbacks: false, ...provider })).ranked.map(({ provider: { slug } }) => slug)
    assert.deepStrictEqual(slugs({ order: ["beta"] }), ["beta"])
    assert.deepStrictEqual(slugs({ order: ["nobody", "gamma", "beta"] }), ["gamma", "beta"])
    assert.lengthOf(slugs({}), 3)
    assert.lengthOf(slugs({ order: ["nobody"], allow_fallbacks: true }), 3)

    const { excluded, unroutable } = route(intentWith({ allow_fallbacks: false, order: ["nobody"] }))
    const reason = unroutable?.reason
    assert.strictEqual(reason?._tag, "NoEligibleProvider")
    if (reason?._tag !== "NoEligibleProvider") return
    assert.deepStrictEqual(
      reason.excluded.map((one) => [one.slug, one.reason]),
      [
        ["alpha", "not_in_order"],
        ["beta", "not_in_order"],
        ["gamma", "not_in_order"],
        ["nobody", "unknown_provider"]
      ]
    )
    // A made-up name is shown to the client and not stored.
    assert.notInclude(JSON.stringify(excluded), "nobody")
  }).pipe(Effect.provide(layer))
)

it.effect("a request has at most 64 candidates and 64 exclusions, and each fallback model counts once", () => {
  const slugs = Array.from({ length: 100 }, (_, at) => `provider-${at}`)
  const wide = Planner.layer({ defaultSort: "price" }).pipe(
    Layer.provide(
      Layer.mergeAll(Catalog.layer, ProviderStats.layer).pipe(
        Layer.provideMerge(scripted(Object.fromEntries(slugs.map((slug) => [slug, good]))).layer),
        Layer.provide(Ids.layerSequence)
      )
    )
  )
  const routed = (provider: Partial<ProviderPreferences>, models: ReadonlyArray<string>) =>
    Effect.map(Planner, (intake) => intake.route({ ...intentWith(provider), fallbackModels: models }))
  return Effect.gen(function* () {
    const many = Array.from({ length: 40 }, () => "no/such")
    const open = yield* routed({}, [...many, "test/small"])
    assert.deepStrictEqual(
      [open.ranked.length, open.excluded],
      [64, [{ slug: "*", model: "no/such", reason: "unknown_model" }]]
    )
    const shut = yield* routed({ only: ["nobody"] }, many)
    assert.deepStrictEqual([shut.ranked.length, shut.excluded.length], [0, 64])
    const reason = shut.unroutable?.reason
    assert.strictEqual(
      reason?._tag === "NoEligibleProvider" ? reason.excluded.length : null,
      65,
      "and the unknown name"
    )
  }).pipe(Effect.provide(wide))
})

it.effect("an alias is drawn by weight: the same for the same seed, and the heaviest in a preview", () => {
  const aliased = Planner.layer({
    defaultSort: "price",
    aliases: {
      fast: [
        { model: "a/canary", weight: 1 },
        { model: "a/stable", weight: 3 }
      ]
    }
  }).pipe(
    Layer.provideMerge(
      Layer.mergeAll(Catalog.layer, ProviderStats.layer).pipe(
        Layer.provideMerge(
          layerScripted([
            {
              slug: "alpha",
              config: { models: [scriptedOffer("a/canary"), scriptedOffer("a/stable")] },
              models: {}
            }
          ])
        )
      )
    )
  )
  return Effect.gen(function* () {
    const planner = yield* Planner
    const input = { ...intentWith({}), model: "fast" }
    const draws = Effect.forEach(Array.from({ length: 200 }), () =>
      Effect.map(planner.begin(input, admittedWith()), ({ model, named }) => {
        assert.deepStrictEqual(named, { as: "fast", snapshot: null })
        return model
      })
    )
    const found = yield* Random.withSeed(draws, "a seed")
    const canaries = found.filter((model) => model === "a/canary").length
    assert.isTrue(canaries > 30 && canaries < 70, String(canaries))
    assert.deepStrictEqual(yield* Random.withSeed(draws, "a seed"), found)
    assert.strictEqual(planner.route(input).model, "a/stable")
    // The turns of a conversation that the client names draw one model.
    const drawnBy = (sessionId: string) =>
      Effect.forEach(["Hi", "Go on."], (content) => {
        const request = requestWith({ messages: [{ role: "user", content }] })
        const turn = { ...input, request, conversation: { request, sessionId } }
        return Effect.map(planner.begin(turn, admittedWith()), ({ model }) => model)
      })
    const sessions = yield* Effect.forEach(Array.from({ length: 200 }), (_, at) => drawnBy(`session ${at}`))
    for (const [first, second] of sessions) assert.strictEqual(second, first)
    const named = sessions.filter(([model]) => model === "a/canary").length
    assert.isTrue(named > 30 && named < 70, String(named))
  }).pipe(Effect.provide(aliased))
})
