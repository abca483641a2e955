/** `${NAME}` in the settings file: where it is allowed, and that it cannot become structure. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { parse } from "effect/encoding/Yaml"
import { Settings } from "../../src/Settings.ts"
import { fillReferences, hideReferences } from "../../src/settings/References.ts"
import { sourceOf } from "./source.ts"

const fill = (source: string, env: Record<string, string> = {}) => {
  const { text, references } = hideReferences(source)
  return fillReferences(parse(text), references, env)
}

describe("references", () => {
  const env = { A: "one", B: "two" }
  const cases: ReadonlyArray<readonly [string, unknown]> = [
    ["x: ${A}", { x: "one" }],
    ["x: http://${A}/${B}/", { x: "http://one/two/" }],
    ["x: { y: ${A}, z: [${B}] }", { x: { y: "one", z: ["two"] } }],
    ["x: \"${A}\"\ny: '${B}'", { x: "one", y: "two" }],
    ["x: ${GONE:-other}", { x: "other" }],
    ["x: ${A:-other}", { x: "one" }],
    ["x: ${GONE:-}", { x: "" }],
    ["x: ${GONE:-a: b # c}", { x: "a: b # c" }],
    ["x: a$$b", { x: "a$b" }],
    ["x: $${A}", { x: "${A}" }],
    ["x: $$${A}", { x: "$one" }],
    ["x: pa$word $", { x: "pa$word $" }],
    ["x: 1\ny: null", { x: 1, y: null }],
    ["# ${GONE}\nx: 1", { x: 1 }],
    ["${A}: 1", { "${A}": 1 }]
  ]
  for (const [source, value] of cases) {
    it(`fill ${source}`, () => {
      const filled = fill(source, env)
      assert.deepStrictEqual(filled.faults, [])
      assert.deepStrictEqual(filled.value, value)
    })
  }

  it("never turn into structure", () => {
    assert.deepStrictEqual(fill("x: ${A}", { A: "{ y: 1 }\nz: ${B} $$" }).value, { x: "{ y: 1 }\nz: ${B} $$" })
  })

  it("tell which places and names they are of", () => {
    const { hidden, names } = fill("x: [1, '${A}']\ny: ${GONE:-z}", env)
    assert.deepStrictEqual([...hidden], ["x[1]", "y"])
    assert.deepStrictEqual([...names], ["A", "GONE"])
  })

  it("that are unset, empty or malformed are faults, each at its place", () => {
    const { faults } = fill("a: ${GONE}\nb: { c: ['${EMPTY}'] }\nd: ${}\ne: ${A:-${B}\nf: '${A'", { ...env, EMPTY: "" })
    assert.deepStrictEqual(
      faults.map(({ setting, problem }) => `${setting} ${problem}`),
      [
        "a refers to GONE, which is unset or empty",
        "b.c[0] refers to EMPTY, which is unset or empty",
        "d holds a malformed ${…}",
        "e holds a malformed ${…}",
        "f holds a malformed ${…}"
      ]
    )
  })
})

it.effect("numbers and switches may come from the environment", () =>
  Effect.gen(function* () {
    const file = "cache: { enabled: ${CACHE}, ttl_seconds: ${TTL} }\nmarkup: ${MARKUP:-0.5}"
    const settings = yield* Settings.load(sourceOf({ CACHE: "false", TTL: "60" }, file))
    assert.deepStrictEqual([settings.cache.enabled, settings.cache.ttlSeconds, settings.markup], [false, 60, 0.5])
  })
)

it.effect("a TOLLGATE_ variable that the file refers to is known by that", () =>
  Effect.gen(function* () {
    const env = { TOLLGATE_MY_MARKUP: "0.5" }
    assert.strictEqual((yield* Settings.load(sourceOf(env, "markup: ${TOLLGATE_MY_MARKUP}"))).markup, 0.5)
    const unreferred = yield* Effect.result(Settings.load(sourceOf(env, "markup: 0.5")))
    assert.isTrue(Result.isFailure(unreferred))
  })
)
