import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  costOf,
  monthEndMs,
  monthOf,
  nanoFromUsd,
  picoFromUsdPerMillion,
  usdFromNano,
  usdPerMillionFromPico,
  usdText
} from "../../../src/domain/pricing/Money.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000_000 }))
const Price = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200_000_000 }))

it.prop(
  "each product is rounded once: never more than half a nano-USD from the exact one",
  { tokens: Count, price: Price },
  ({ price, tokens }) => {
    const exact = BigInt(tokens) * BigInt(price)
    const off = BigInt(costOf(tokens, price)) * 1000n - exact
    assert.isTrue(off <= 500n && off >= -500n, `${off}`)
  }
)

it.prop(
  "USD and back",
  { nano: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000_000_000_000_000 })) },
  ({ nano }) => {
    assert.strictEqual(nanoFromUsd(usdFromNano(nano)), nano)
  }
)

it("an amount in a text is a plain decimal", () => {
  const amounts: ReadonlyArray<readonly [number, string]> = [
    [0, "$0"],
    [1, "$0.000000001"],
    [100, "$0.0000001"],
    [10_000, "$0.00001"],
    [5_000_000_000, "$5"],
    [10_000_000_000, "$10"],
    [1_234_500_000_000, "$1234.5"],
    [1_000_000_000_000_000, "$1000000"]
  ]
  for (const [nano, text] of amounts) assert.strictEqual(usdText(nano), text)
})

it("prices as lists write them", () => {
  assert.strictEqual(picoFromUsdPerMillion(0.075), 75_000)
  assert.strictEqual(usdPerMillionFromPico(75_000), 0.075)
  assert.strictEqual(costOf(1_000_000, picoFromUsdPerMillion(0.15)), nanoFromUsd(0.15))
  assert.strictEqual(costOf(1, 500), 1, "half a nano-USD rounds up")
  assert.strictEqual(costOf(1, 499), 0)
})

it("months are UTC calendar months", () => {
  const end = Date.UTC(2026, 11, 1)
  assert.deepStrictEqual([monthOf(end - 1), monthOf(end)], ["2026-11", "2026-12"])
  assert.strictEqual(monthEndMs(end - 1), end)
  assert.strictEqual(monthEndMs(Date.UTC(2026, 11, 31, 23, 59, 59, 999)), Date.UTC(2027, 0, 1))
  assert.strictEqual(monthEndMs(end), Date.UTC(2027, 0, 1))
})
