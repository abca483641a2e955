import { assert, it } from "@effect/vitest"
import { JsonShape, MAX_EXACT_VALUES, MAX_MEMBERS, MAX_VALUES } from "../../../src/domain/json/JsonShape.ts"

/** The limit that a text exceeds when it arrives in packets of `size` bytes. */
const excess = (text: string, size: number) => {
  const bytes = Buffer.from(text)
  const shape = new JsonShape()
  for (let at = 0; at < bytes.length; at += size) {
    const found = shape.take(bytes.subarray(at, at + size))
    if (found !== null) return found
  }
  return null
}
/** In one packet, byte by byte, and split at odd places. */
const found = (text: string) => {
  const all = [1, 2, 3, 7, 64, 1e9].map((size) => excess(text, size))
  assert.lengthOf(new Set(all), 1, text.slice(0, 40))
  return all[0]
}
const deep = (levels: number, inside = "") => "[".repeat(levels) + inside + "]".repeat(levels)

it("128 levels pass, 129 do not; closed levels do not count", () => {
  assert.isNull(found(deep(128)))
  assert.strictEqual(found(deep(129)), "depth")
  assert.strictEqual(found(`{"a":${deep(128)}}`), "depth")
  assert.isNull(found(`[${Array.from({ length: 200 }, () => deep(100)).join(",")}]`))
})

it("brackets and commas in strings are text, also next to escaped quotes and backslashes", () => {
  const brackets = "[,".repeat(500)
  for (const text of [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}\\`, `${brackets}"\\\\"`]) {
    assert.isNull(found(JSON.stringify({ text })), text.slice(0, 4))
    assert.strictEqual(found(`{"text":${JSON.stringify(text)},"deep":${deep(128)}}`), "depth", text.slice(0, 4))
  }
})

it("a string without an end is left to the parser", () => {
  assert.isNull(found(`{"a":"${"[".repeat(500)}`))
  assert.isNull(found(`{"a":"\\"${"[".repeat(500)}\\"`))
})

it("values are counted everywhere: in lists, in objects, and the lists and objects themselves", () => {
  const list = (entries: number) => `[${"1,".repeat(entries - 1)}1]`
  assert.isNull(excess(list(MAX_VALUES - 1), 65_536))
  assert.strictEqual(excess(list(MAX_VALUES), 65_536), "values")
  assert.strictEqual(excess(`[${"[1],".repeat(MAX_VALUES / 2)}1]`, 65_536), "values")
})

it("members are counted per object; entries of a list are not members", () => {
  const object = (members: number) => `{${`"a":[1,{"b":2}],`.repeat(members - 1)}"a":1}`
  assert.isNull(excess(object(MAX_MEMBERS), 65_536))
  assert.strictEqual(excess(object(MAX_MEMBERS + 1), 65_536), "members")
  assert.isNull(excess(`[${object(MAX_MEMBERS - 1)},${object(MAX_MEMBERS - 1)}]`, 65_536))
  assert.isNull(excess(`{"a":[${"1,".repeat(MAX_MEMBERS * 2)}1],"b":1}`, 65_536))
  // Invalid JSON is left to the parser, however many brackets it closes.
  assert.isNull(excess(`]]]]${object(10)}`, 65_536))
})

it("a number of 16 digits is detected, wherever a packet ends, except in a string or after a decimal point", () => {
  const isLong = (text: string) => {
    const all = [1, 2, 3, 7, 64].map((size) => {
      const shape = new JsonShape()
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length; at += size) shape.take(bytes.subarray(at, at + size))
      return shape.hasLongNumber
    })
    assert.lengthOf(new Set(all), 1, text)
    return all[0]
  }
  const digits = "1234567890123456"
  for (const text of [digits, `[-${digits}7]`, `{"a":${digits}.5}`, `[1, 2,\n${digits}]`, `["\\"",${digits}]`]) {
    assert.isTrue(isLong(text), text)
  }
  for (const text of [
    digits.slice(1),
    `"${digits}"`,
    `[0.${digits}]`,
    `"\\"${digits}"`,
    "[12345678,12345678]",
    "1e5"
  ]) {
    assert.isFalse(isLong(text), text)
  }
})

it("fewer values are accepted together with such a number, in either order", () => {
  const ones = (count: number) => "1,".repeat(count)
  const long = "12345678901234567"
  assert.isNull(excess(`[${ones(MAX_EXACT_VALUES - 2)}${long}]`, 65_536))
  assert.strictEqual(excess(`[${ones(MAX_EXACT_VALUES)}${long}]`, 65_536), "exact")
  assert.strictEqual(excess(`[${long},${ones(MAX_EXACT_VALUES)}1]`, 65_536), "exact")
  assert.isNull(excess(`["${long}",${ones(MAX_EXACT_VALUES)}1]`, 65_536))
})
