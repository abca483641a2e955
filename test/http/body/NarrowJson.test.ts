/** The JSON that is parsed in place of a body means the same, and is left out where it is dear. */
import { assert, it } from "@effect/vitest"
import { Result } from "effect"
import { narrowJson } from "../../../src/http/body/NarrowJson.ts"

const filler = "A road is paid for by those who use it. ".repeat(40)
const parsed = (text: string) => Result.try(() => JSON.parse(text) as unknown)

/** The body's bytes at an odd place of their memory, as the parts of a packet are. */
const bytesOf = (text: string, offset = 3) => Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).subarray(offset)

it("means what the body means, whatever its characters and their places", () => {
  let state = 11
  const next = (below: number) => ((state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 9) % below
  const pieces = [
    "é",
    "ß",
    "\u0080",
    "\u00ff",
    "\u0100",
    "東",
    "京都",
    "🙂",
    "\u{10ffff}",
    "\uffff",
    "\u2028",
    "\\n",
    '\\"'
  ]
  let narrow = 0
  for (let round = 0; round < 2_000; round++) {
    const some = Array.from(
      { length: 1 + next(20) },
      () => filler.slice(0, next(30)) + (pieces[next(pieces.length)] ?? "") + (next(9) === 0 ? "\\u6771" : "")
    )
    const text = `{"${some[0]}":"${some.join("")}","x":["${filler}","${some.at(-1)}",1e5]}`
    const json = narrowJson(bytesOf(text, next(8)))
    if (json === null) continue
    narrow++
    assert.deepStrictEqual(JSON.parse(json), JSON.parse(text))
    assert.isFalse(/[^\0-\u00ff]/.test(json))
  }
  assert.isAbove(narrow, 1_900)
})

it("is not made where an escape would end in another character, and never makes a body valid", () => {
  const around = (text: string) => `{"text":"${filler}","more":${text}}`
  for (const text of ['"\\\\東"', '"\\東"']) assert.isNull(narrowJson(bytesOf(around(text))), text)
  for (const text of ["東", "é", "\u00a0", '"東', "\ufeff1", '"\\é"', '"\\u67é1"']) {
    const body = around(text)
    assert.isTrue(Result.isFailure(parsed(body)), text)
    assert.isTrue(Result.isFailure(parsed(narrowJson(bytesOf(body)) ?? body)), text)
  }
})

it("is not made of short and very long bodies, or of many characters beyond Latin-1", () => {
  assert.isNull(narrowJson(bytesOf('"東京"')))
  assert.isNull(narrowJson(bytesOf(`"${"a".repeat(262_144)}"`)))
  assert.isNull(narrowJson(bytesOf(`"${"東京都渋谷区".repeat(500)}"`)))
  assert.isNull(narrowJson(bytesOf(`"${filler}${"東京都渋谷区".repeat(500)}"`)))
  // As many as there may be, each the longest.
  const dear = `"${`${"a".repeat(60)}🙂`.repeat(4_090)}"`
  const json = narrowJson(bytesOf(dear))
  assert.strictEqual(json?.length, 2 + 4_090 * 72)
  assert.deepStrictEqual(parsed(json ?? ""), parsed(dear))
})
