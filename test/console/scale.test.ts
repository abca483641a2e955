import { assert, describe, it } from "@effect/vitest"
import { topOf } from "../../src/console/parts/scale.ts"

describe("topOf", () => {
  it("is the next round number, whose half is whole where the values are", () => {
    const tops = [[1], [3], [7, null, 2], [9], [11], [95], [474], [0.0031], [1.2], [1_460.5]].map(topOf)
    assert.deepStrictEqual(tops, [2, 4, 8, 10, 20, 100, 500, 0.004, 1.5, 1_500])
  })

  it("is zero where there is nothing to show", () => {
    assert.deepStrictEqual([topOf([]), topOf([null, null]), topOf([0, 0])], [0, 0, 0])
  })
})
