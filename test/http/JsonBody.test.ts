import { assert, it } from "@effect/vitest"
import { refusedOutright } from "../../src/http/JsonBody.ts"

const refused = (body: string) => refusedOutright("application/json", body)?.msg !== undefined
const deep = (levels: number, inside = "") => "[".repeat(levels) + inside + "]".repeat(levels)

it("128 levels pass, 129 do not; what was closed does not count", () => {
  assert.isFalse(refused(deep(128)))
  assert.isTrue(refused(deep(129)))
  assert.isTrue(refused(`{"a":${deep(128)}}`))
  assert.isFalse(refused(`[${Array.from({ length: 200 }, () => deep(100)).join(",")}]`))
})

it("brackets in strings are text, also beside quotes and backslashes that are escaped", () => {
  const brackets = "[".repeat(500)
  for (const text of [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}\\`, `${brackets}"\\\\"`]) {
    assert.isFalse(refused(JSON.stringify({ text })), text.slice(0, 4))
    assert.isTrue(refused(`{"text":${JSON.stringify(text)},"deep":${deep(128)}}`), text.slice(0, 4))
  }
})

it("a string that does not end is left to the parser", () => {
  assert.isFalse(refused(`{"a":"${"[".repeat(500)}`))
  assert.isFalse(refused(`{"a":"\\"${"[".repeat(500)}\\"`))
})
