/** Shortcuts around JSON's own functions say what these say. */
import { assert, describe, it } from "@effect/vitest"
import { closingQuote, isPlain, parseJson } from "../../src/domain/Json.ts"

describe("Json", () => {
  it("a plain text stands between quotes as JSON.stringify would have it, whatever its code units", () => {
    for (let unit = 0; unit < 0x1_0000; unit++) {
      const text = `a${String.fromCharCode(unit)}b`
      if (!isPlain(text)) continue
      assert.strictEqual(`"${text}"`, JSON.stringify(text))
      assert.strictEqual(parseJson(`"${text}"`), text)
    }
    assert.deepStrictEqual(["", "ünïcode 塔", 'a "quote"', "a\\b", "a\nb"].map(isPlain), [
      true,
      true,
      false,
      false,
      false
    ])
  })

  it("parses what is JSON, and answers undefined for what is none", () => {
    assert.deepStrictEqual(parseJson('{"a":[1]}'), { a: [1] })
    for (const text of ["", "{", "undefined", "'a'"]) assert.isUndefined(parseJson(text))
  })

  it("finds the end of a string behind escaped quotes and backslashes", () => {
    assert.strictEqual(closingQuote('"a\\"b\\\\"c"', 1), 7)
    assert.strictEqual(closingQuote('"a\\"', 1), -1)
  })
})
