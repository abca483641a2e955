import { assert, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { Catalog } from "../../../src/gateway/routing/Catalog.ts"
import { layerScripted, scriptedOffer } from "../../../src/testing/ScriptedProvider.ts"

const layer = Catalog.layer.pipe(
  Layer.provide(
    layerScripted([
      { slug: "alpha", models: { "b/one": {}, "a/twin": {}, "deep/path/slug": {} } },
      { slug: "beta", models: { "b/one": {}, "c/twin": {} } }
    ])
  )
)

it.effect("a model resolves by its id, with its offers in the order of the settings, or by an unambiguous slug", () =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const named = (model: string) =>
      Effect.map(Effect.fromResult(catalog.resolve(model)), ({ candidates, id }) => [
        id,
        ...candidates.map(({ provider }) => provider.slug)
      ])
    assert.deepStrictEqual(yield* named("b/one"), ["b/one", "alpha", "beta"])
    assert.deepStrictEqual(yield* named("one"), ["b/one", "alpha", "beta"])
    assert.deepStrictEqual(yield* named("a/twin"), ["a/twin", "alpha"])
    assert.deepStrictEqual(yield* named("path/slug"), ["deep/path/slug", "alpha"])
    assert.deepStrictEqual(
      catalog.models.map(({ id }) => id),
      ["a/twin", "b/one", "c/twin", "deep/path/slug"]
    )
  }).pipe(Effect.provide(layer))
)

it.effect("a model has its vendors' own names; a dated one is called by the vendors that know it", () =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const named = (model: string) =>
      Effect.map(Effect.fromResult(catalog.resolve(model)), ({ candidates, id, snapshot }) => [
        id,
        snapshot,
        ...candidates.map(({ offer, provider }) => `${provider.slug}: ${offer.upstream}`)
      ])
    const sonnet = ["anthropic/claude-sonnet-4.5", null, "anthropic: claude-sonnet-4-5", "reseller: sonnet"]
    for (const spelling of [
      "anthropic/claude-sonnet-4.5",
      "claude-sonnet-4.5",
      "claude-sonnet-4-5",
      "anthropic/claude-sonnet-4-5"
    ]) {
      assert.deepStrictEqual(yield* named(spelling), sonnet)
    }
    for (const dated of ["claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5-20250929"]) {
      assert.deepStrictEqual(yield* named(dated), [sonnet[0], dated, "anthropic: claude-sonnet-4-5-20250929"])
    }
    assert.deepStrictEqual(yield* named("gpt-4o-2024-08-06"), [
      "openai/gpt-4o",
      "gpt-4o-2024-08-06",
      "openai: gpt-4o-2024-08-06"
    ])
    const unknown = (model: string) => assert.isTrue(Result.isFailure(catalog.resolve(model)), model)
    // No date, no vendor that is known to have snapshots, a path that each name would be part of.
    for (const name of ["gpt-4o-20241399", "gpt-4o-2024", "own/model-20250929", "gemini-3-pro-20250929", "-20250929"]) {
      unknown(name)
    }
  }).pipe(
    Effect.provide(
      Catalog.layer.pipe(
        Layer.provide(
          layerScripted([
            {
              slug: "anthropic",
              config: {
                dialect: "anthropic",
                models: [
                  {
                    ...scriptedOffer("anthropic/claude-sonnet-4.5"),
                    upstream: "claude-sonnet-4-5",
                    aliases: { "claude-sonnet-4-5": "claude-sonnet-4-5" }
                  }
                ]
              },
              models: {}
            },
            {
              slug: "reseller",
              config: {
                dialect: "openai",
                models: [{ ...scriptedOffer("anthropic/claude-sonnet-4.5"), upstream: "sonnet" }]
              },
              models: {}
            },
            {
              slug: "openai",
              config: {
                dialect: "openai",
                models: [
                  {
                    ...scriptedOffer("openai/gpt-4o"),
                    aliases: { "gpt-4o": "gpt-4o", "gpt-4o-2024-08-06": "gpt-4o-2024-08-06" }
                  },
                  scriptedOffer("own/model")
                ]
              },
              models: {}
            },
            {
              slug: "gemini",
              config: { dialect: "gemini", models: [{ ...scriptedOffer("google/gemini-3-pro"), aliases: {} }] },
              models: {}
            }
          ])
        )
      )
    )
  )
)

it.effect("an ambiguous slug names its candidates; an unknown name has none", () =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const refusal = (model: string) =>
      Effect.map(Effect.flip(Effect.fromResult(catalog.resolve(model))), ({ reason }) => reason)
    assert.deepInclude(yield* refusal("twin"), {
      _tag: "ModelNotFound",
      model: "twin",
      ambiguous: ["a/twin", "c/twin"]
    })
    for (const unknown of ["", "/", "b/", "b/two", "constructor", "__proto__", "B/ONE"]) {
      assert.deepInclude(yield* refusal(unknown), { _tag: "ModelNotFound", model: unknown, ambiguous: [] })
    }
  }).pipe(Effect.provide(layer))
)
