import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Catalog } from "../../../src/gateway/routing/Catalog.ts"
import { layerScripted } from "../../../src/testing/ScriptedProvider.ts"

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
