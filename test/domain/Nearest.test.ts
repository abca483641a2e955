import { assert, it } from "@effect/vitest"
import { nearest } from "../../src/domain/Nearest.ts"

const known = ["cache", "markup", "max_entries", "TOLLGATE_PORT"]

it("finds the name behind a slip: a letter lost, added, replaced or swapped, or another case", () => {
  assert.deepStrictEqual(
    ["cahe", "cacche", "markip", "mrakup", "max-entries", "tollgate_prot", "CACHE"].map((name) => nearest(name, known)),
    ["cache", "cache", "markup", "markup", "max_entries", "TOLLGATE_PORT", "cache"]
  )
})

it("offers the nearest of several", () => {
  assert.strictEqual(nearest("retires", ["retain", "retries"]), "retries")
})

it("offers nothing when even the nearest is far", () => {
  assert.deepStrictEqual(
    ["colour", "", "x"].map((name) => nearest(name, known)),
    [null, null, null]
  )
})

it("offers nothing for a name that is longer than any slip of the hand", () => {
  assert.isNull(nearest("c".repeat(101), [`${"c".repeat(100)}ache`]))
})
