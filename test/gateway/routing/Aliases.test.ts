import { assert, it } from "@effect/vitest"
import { type Aliases, drawn } from "../../../src/gateway/routing/Aliases.ts"

const aliases: Aliases = new Map([
  [
    "fast",
    [
      { model: "a/canary", weight: 5 },
      { model: "a/stable", weight: 95 }
    ]
  ],
  ["a/stable", [{ model: "a/next", weight: 1 }]]
])

it("draws a target by its weight, the heaviest at 0; another name is itself", () => {
  assert.strictEqual(drawn(aliases, "fast", null, 0), "a/stable")
  assert.strictEqual(drawn(aliases, "other", null, 0.5), "other")
  const draws = Array.from({ length: 1_000 }, (_, at) => drawn(aliases, "fast", null, at / 1_000))
  assert.strictEqual(draws.filter((model) => model === "a/canary").length, 50)
})

it("draws only what the key may use, and does not follow a second alias", () => {
  assert.strictEqual(drawn(aliases, "fast", ["a/canary"], 0), "a/canary")
  assert.strictEqual(drawn(aliases, "fast", ["b/*"], 0), "a/stable")
  assert.strictEqual(drawn(aliases, "a/stable", null, 0.99), "a/next")
})
