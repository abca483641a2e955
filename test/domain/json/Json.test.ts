/** Lenient parsing, and scanning of JSON text. */
import { assert, describe, it } from "@effect/vitest"
import { closingQuote, parseJson } from "../../../src/domain/json/Json.ts"

describe("Json", () => {
  it("parses what is JSON, and answers undefined for what is none", () => {
    assert.deepStrictEqual(parseJson('{"a":[1]}'), { a: [1] })
    for (const text of ["", "{", "undefined", "'a'"]) assert.isUndefined(parseJson(text))
  })

  it("finds the end of a string behind escaped quotes and backslashes", () => {
    assert.strictEqual(closingQuote('"a\\"b\\\\"c"', 1), 7)
    assert.strictEqual(closingQuote('"a\\"', 1), -1)
  })
})
