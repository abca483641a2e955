/** Places in a decoded JSON string, and in the text it was written in. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { jsonPieces } from "../../../src/gateway/privacy/JsonText.ts"

const Part = Schema.Literals(["a", '"', "\\", "\n", "\u0001", "é", "bc", "🙂"])

it.prop("an offset in a decoded string is that of its written form, in any order", [Schema.Array(Part)], ([parts]) => {
  const text = parts.join("")
  const [piece] = [...jsonPieces(JSON.stringify(text))]
  if (text === "") return
  assert.strictEqual(piece?.text, text)
  const ends = parts.map((_, at) => parts.slice(0, at + 1).join(""))
  for (const before of [...ends, ...ends.toReversed()])
    assert.strictEqual(piece?.offset(before.length), JSON.stringify(before).length - 1)
})
