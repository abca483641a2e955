import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { idBound, Ids, isId } from "../../src/domain/Ids.ts"

it.effect("ids have their form, sort by time, and differ", () =>
  Effect.gen(function* () {
    const ids = yield* Ids
    const now = Date.UTC(2026, 10, 21)
    const made = Array.from({ length: 1_000 }, () => ids.next("gen", now))
    assert.strictEqual(new Set(made).size, 1_000)
    assert.isTrue(made.every((name) => isId("gen", name)))
    assert.isBelow(ids.next("gen", now - 1).localeCompare(made[0] ?? ""), 0)
    assert.isAbove(ids.next("gen", now + 1).localeCompare(made[0] ?? ""), 0)
  }).pipe(Effect.provide(Ids.layer))
)

it.effect("a sequence counts, so that whole answers can be told beforehand", () =>
  Effect.gen(function* () {
    const ids = yield* Ids
    assert.strictEqual(ids.next("key", 0), "key_00000000000000000000000000000001")
    assert.strictEqual(ids.next("gen", 255), "gen_0000000000ff00000000000000000002")
  }).pipe(Effect.provide(Ids.layerSequence))
)

it("what has not the form of an id names nothing", () => {
  const name = `gen_${"a1".repeat(16)}`
  assert.isTrue(isId("gen", name))
  for (const wrong of ["", "gen_", name.slice(1), `${name}0`, name.toUpperCase(), `key${name.slice(3)}`, `${name}\n`]) {
    assert.isFalse(isId("gen", wrong), JSON.stringify(wrong))
  }
})

it.effect("a bound stands before all that is born then or later, and after all that was born before", () =>
  Effect.gen(function* () {
    const ids = yield* Ids
    const now = Date.UTC(2026, 10, 21)
    assert.isTrue(idBound("gen", now) <= ids.next("gen", now))
    assert.isTrue(ids.next("gen", now - 1) < idBound("gen", now))
    assert.isTrue(ids.next("gen", now) < idBound("gen", now + 0.5))
    // Bounds outside the range of identifiers are clamped.
    assert.strictEqual(idBound("gen", -1), "gen_000000000000")
    assert.strictEqual(idBound("gen", 8_640_000_000_000_000), "gen_ffffffffffff")
  }).pipe(Effect.provide(Ids.layer))
)
