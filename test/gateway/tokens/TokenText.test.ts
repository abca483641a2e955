/**
 * Token ids as texts: what OpenAI's encoding makes of a text comes back, and no call leaves a trace
 * in another.
 */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { encode } from "gpt-tokenizer/encoding/cl100k_base"
import { textOfTokens, withTexts } from "../../../src/gateway/tokens/TokenText.ts"

const samples = [
  "Hello, world",
  "Grüße aus 東京 🏔️!",
  "",
  "\u{1F468}\u{200D}\u{1F469}",
  "a\tb\r\n  c",
  "mail ann@example.com"
]

it.each(samples)("%j comes back from its tokens", (text) => {
  assert.strictEqual(textOfTokens(encode(text)), text)
})

it.prop("any text comes back from its tokens", [Schema.String], ([text]) => {
  // Half a character has no bytes of its own.
  assert.strictEqual(textOfTokens(encode(text)), text.toWellFormed())
})

it("half a character is a replacement character, and is not added to the next text", () => {
  const [first, ...rest] = encode("🏔")
  assert.isAbove(rest.length, 0)
  assert.strictEqual(textOfTokens([first ?? 0]), "\uFFFD")
  assert.strictEqual(textOfTokens(encode("Hi")), "Hi")
})

it("an id beyond the encoding is unknown", () => {
  assert.isNull(textOfTokens([...encode("Hi"), 200_000]))
  assert.isNull(withTexts({ model: "m", input: [[200_000]] }))
})

it("one text comes of a list of ids, and several of a list of lists; texts stay as they are", () => {
  const texts = { model: "m", input: ["a", "b"] }
  assert.strictEqual(withTexts(texts), texts)
  assert.deepStrictEqual(withTexts({ model: "m", input: encode("Hello there") })?.input, ["Hello there"])
  assert.deepStrictEqual(withTexts({ model: "m", input: [encode("one"), encode("two")], dimensions: 3 }), {
    model: "m",
    input: ["one", "two"],
    dimensions: 3
  })
})
