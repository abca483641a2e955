/** Which requests the prompt cache serves, by the settings and by the client's `Cache-Control`. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { defaultSettings, type SettingsShape } from "../../src/Settings.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, helloReply } from "./wire.ts"

const appWith = (cache: Partial<SettingsShape["cache"]> = {}) =>
  TestApp.layer({
    settings: { cache: { ...defaultSettings.cache, ...cache } },
    providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }]
  })

const asking = Effect.gen(function* () {
  const { chat, issueKey } = yield* TestApp
  const { secret: key } = yield* issueKey()
  /** Returns the cache status of a request. */
  return (more: Readonly<Record<string, unknown>> = {}, control?: string) =>
    Effect.map(
      chat(ask("Hi", more), { key, headers: control === undefined ? {} : { "cache-control": control } }),
      ({ headers, status }) => (status === 200 ? headers.get("x-tollgate-cache") : status)
    )
})

it.effect("by default serves only deterministic requests; all others bypass it", () =>
  Effect.gen(function* () {
    const asked = yield* asking
    const words = [
      yield* asked(),
      yield* asked(),
      yield* asked({ temperature: 1.7 }),
      yield* asked({ temperature: 0 }),
      yield* asked({ temperature: 0 }),
      yield* asked({ seed: 7 }),
      yield* asked({ seed: 7 })
    ]
    assert.deepStrictEqual(words, ["bypass", "bypass", "bypass", "miss", "hit", "miss", "hit"])
  }).pipe(Effect.provide(appWith()))
)

it.effect("max-age requires a younger entry, and stores; no-cache only stores; no-store wins", () =>
  Effect.gen(function* () {
    const asked = yield* asking
    assert.strictEqual(yield* asked({}, "no-store, max-age=60"), "bypass")
    assert.strictEqual(yield* asked({}, "max-age=60"), "miss")
    assert.strictEqual(yield* asked({}, "Private, Max-Age=60"), "hit")
    assert.strictEqual(yield* asked(), "bypass")
    yield* TestClock.adjust("61 seconds")
    assert.strictEqual(yield* asked({}, "max-age=120"), "hit")
    assert.strictEqual(yield* asked({}, "max-age=0"), "bypass")
    assert.strictEqual(yield* asked({}, "max-age=60"), "hit")
    yield* TestClock.adjust("61 seconds")
    assert.strictEqual(yield* asked({}, "max-age=60, no-cache"), "bypass")
    assert.strictEqual(yield* asked({}, "max-age=60"), "hit")
    for (const other of ["max-age", "max-age=soon", "max-age=-1", "s-maxage=60", "x-max-age=60"]) {
      assert.strictEqual(yield* asked({}, other), "bypass", other)
    }
  }).pipe(Effect.provide(appWith()))
)

it.effect("`always` serves every request and `never` none, whatever the client asks", () =>
  Effect.gen(function* () {
    const said = Effect.gen(function* () {
      const asked = yield* asking
      return [yield* asked(), yield* asked(), yield* asked({}, "max-age=60"), yield* asked({ temperature: 0 })]
    })
    assert.deepStrictEqual(yield* said.pipe(Effect.provide(appWith({ when: "always" }))), [
      "miss",
      "hit",
      "hit",
      "miss"
    ])
    for (const off of [{ when: "never" } as const, { enabled: false }]) {
      assert.deepStrictEqual(yield* said.pipe(Effect.provide(appWith(off))), ["bypass", "bypass", "bypass", "bypass"])
    }
  })
)
