import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { bucketOf, Histogram, valueOf } from "../../../src/gateway/health/Histogram.ts"

const Value = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))

it.prop("a bucket stands for its values within two per cent, small ones exactly", { value: Value }, ({ value }) => {
  const shown = valueOf(bucketOf(value))
  assert.isAtMost(shown, value)
  assert.isAtMost(value - shown, value < 128 ? 0 : value * 0.02)
  assert.strictEqual(bucketOf(shown), bucketOf(value))
})

it.prop("buckets are in the order of their values", { a: Value, b: Value }, ({ a, b }) => {
  assert.isTrue(a <= b ? bucketOf(a) <= bucketOf(b) : bucketOf(a) >= bucketOf(b))
})

it("quantiles are those of the weights; an empty histogram has none", () => {
  const histogram = new Histogram()
  assert.isNull(histogram.quantile(0.5))
  for (let value = 1; value <= 100; value++) histogram.add(bucketOf(value), 1)
  assert.deepStrictEqual(
    [0.5, 0.99, 1].map((share) => histogram.quantile(share)),
    [50, 99, 100]
  )
  histogram.add(bucketOf(10), 1_000)
  assert.strictEqual(histogram.quantile(0.5), 10)
})
