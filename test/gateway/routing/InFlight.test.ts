import { assert, it } from "@effect/vitest"
import { Redacted, Schema } from "effect"
import { type Candidate, withEachKey } from "../../../src/domain/Catalog.ts"
import { InFlight } from "../../../src/gateway/routing/InFlight.ts"
import { candidateWith } from "../plans.ts"

const poolOf = (size: number): Candidate =>
  candidateWith("pool", {}, { apiKeys: Array.from({ length: size }, (_, index) => Redacted.make(`k${index}`)) })

const Given = Schema.Struct({
  keys: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 6 })),
  /** Begins a call, or ends the running one at this place. */
  steps: Schema.Array(Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })))).check(
    Schema.isMaxLength(60)
  )
})

it.prop(
  "a call goes to a key with the fewest running calls, and the counts are exact",
  { given: Given },
  ({ given }) => {
    const inFlight = new InFlight()
    const all = withEachKey(poolOf(given.keys))
    const running: Array<Candidate> = []
    for (const step of given.steps) {
      if (step === null) {
        const [next] = inFlight.leastFirst(all)
        if (next === undefined) return assert.fail("no key")
        const fewest = Math.min(...all.map((keyed) => inFlight.running(keyed)))
        assert.strictEqual(inFlight.running(next), fewest)
        inFlight.begin(next)
        running.push(next)
      } else {
        const [ended] = running.splice(step % Math.max(1, running.length), 1)
        if (ended !== undefined) inFlight.end(ended)
      }
      for (const keyed of all)
        assert.strictEqual(inFlight.running(keyed), running.filter(({ key }) => key === keyed.key).length)
      assert.strictEqual(inFlight.running(poolOf(given.keys)), running.length)
    }
  }
)

it.prop(
  "calls that nothing distinguishes are spread evenly",
  { keys: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 6 })) },
  ({ keys }) => {
    const inFlight = new InFlight()
    const all = withEachKey(poolOf(keys))
    const counts = new Map<number | undefined, number>()
    for (let call = 0; call < keys * 5; call++) {
      const [next] = inFlight.leastFirst(all)
      if (next === undefined) return assert.fail("no key")
      inFlight.begin(next)
      inFlight.end(next)
      counts.set(next.key, (counts.get(next.key) ?? 0) + 1)
    }
    assert.deepStrictEqual(
      [...counts.values()],
      Array.from({ length: keys }, () => 5)
    )
  }
)

it("only equal candidates change places", () => {
  const inFlight = new InFlight()
  const ranked = ["a", "b", "c", "d"].map((slug) => candidateWith(slug))
  const slugs = (sizes: ReadonlyArray<number>) => inFlight.shared(ranked, sizes).map(({ provider }) => provider.slug)
  for (const busy of ranked.slice(0, 3)) inFlight.begin(busy)
  assert.deepStrictEqual(slugs([]), ["a", "b", "c", "d"])
  assert.deepStrictEqual(slugs([1, 1, 1, 1]), ["a", "b", "c", "d"])
  assert.deepStrictEqual(slugs([4]), ["d", "a", "b", "c"])
  assert.deepStrictEqual(slugs([2, 2]), ["a", "b", "d", "c"])
})

it("a provider with several keys may run as many calls at each key as another at its one", () => {
  const inFlight = new InFlight()
  const [pool, single] = [poolOf(3), candidateWith("single")]
  inFlight.begin({ ...pool, key: 1 })
  inFlight.begin({ ...pool, key: 2 })
  inFlight.begin(single)
  assert.deepStrictEqual(inFlight.leastFirst([single, pool]), [pool, single])
})
