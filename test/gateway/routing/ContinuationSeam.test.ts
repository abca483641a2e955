import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { ContinuationSeam } from "../../../src/gateway/routing/ContinuationSeam.ts"

/** The text that the client reads: what it had, and what passes of the pieces. */
const joinedText = (sent: string, pieces: ReadonlyArray<string>): string => {
  const joint = new ContinuationSeam(sent)
  return sent + pieces.map((piece) => joint.take(piece)).join("") + joint.flush()
}

const Text = Schema.String.check(Schema.isMaxLength(40))
const Cut = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))

/** `text` in pieces, split at the cuts. */
const piecesOf = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
  const ends = [...cuts.filter((cut) => cut < text.length).toSorted((a, b) => a - b), text.length]
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end))
}

it.prop(
  "a repeat of the whole text is removed, however the provider's text is cut",
  { begin: Text, end: Text, cuts: Schema.Array(Cut).check(Schema.isMaxLength(5)) },
  ({ begin, cuts, end }) => {
    const sent = `${begin.trim()}The beginning`
    assert.strictEqual(joinedText(sent, piecesOf(`${sent}${end}`, cuts)), `${sent}${end}`)
  }
)

it.prop(
  "a text without a repeat is unchanged",
  { begin: Text, end: Text, cuts: Schema.Array(Cut).check(Schema.isMaxLength(5)) },
  ({ begin, cuts, end }) => {
    const sent = `${begin.trim()}#`
    assert.strictEqual(joinedText(sent, piecesOf(`!${end}`, cuts)), `${sent}!${end}`)
  }
)

it("whitespace that the client has is neither requested nor sent twice", () => {
  assert.strictEqual(new ContinuationSeam("one two \n").text, "one two")
  assert.strictEqual(joinedText("one two ", [" three"]), "one two three")
  assert.strictEqual(joinedText("one two ", ["three"]), "one two three")
  assert.strictEqual(joinedText("one\n\n", ["\n", "\n", " two"]), "one\n\n two")
  assert.strictEqual(joinedText("one two ", ["one two", " three"]), "one two three")
})

it("a partial repeat is passed on when the text ends or differs", () => {
  assert.strictEqual(joinedText("la la la", [" la", " la"]), "la la la la la")
  assert.strictEqual(joinedText("one two three", ["one", " two"]), "one two threeone two")
  assert.strictEqual(joinedText("one two three", ["one two", " four"]), "one two threeone two four")
})

it("a text of one or two characters may be repeated", () => {
  assert.strictEqual(joinedText("ha", ["ha", "!"]), "haha!")
})

it("a text of one repeated piece is continued without removal", () => {
  assert.strictEqual(joinedText("a".repeat(20), ["a".repeat(15), "a".repeat(25)]), "a".repeat(60))
  assert.strictEqual(joinedText("ha ha ha ", ["ha ha ", "ha"]), "ha ha ha ha ha ha")
  assert.strictEqual(joinedText("- x\n- x\n", ["- x\n", "- x\n", "- y"]), "- x\n- x\n- x\n- x\n- y")
  // The text is a repeated piece and a part of it, so a repeat can be recognised.
  assert.strictEqual(joinedText("abcabcab", ["abcabcab", "cabc"]), "abcabcabcabc")
})

it("a long text is checked in one pass", () => {
  const text = `${"a".repeat(500_000)}b${"a".repeat(500_000)}`
  assert.strictEqual(joinedText(text, [text, "c"]), `${text}c`)
})

it("half a surrogate pair is not sent to the provider, and is completed", () => {
  const [first = "", second = ""] = "\u{1f600}".split("")
  assert.strictEqual(new ContinuationSeam(`one ${first}`).text, "one")
  assert.isTrue(new ContinuationSeam(`one${first}`).text.isWellFormed())
  for (const pieces of [
    [" \u{1f600} two"],
    ["\u{1f600} two"],
    [" ", first, second, " two"],
    ["one \u{1f600} two"],
    ["on", "e \u{1f600}", " two"]
  ]) {
    assert.strictEqual(joinedText(`one ${first}`, pieces), "one \u{1f600} two")
  }
  // A provider that continues differently loses nothing.
  assert.strictEqual(joinedText(`one${first}`, [" two"]), `one${first} two`)
  assert.strictEqual(joinedText("one \u{1f600}", [" two"]), "one \u{1f600} two")
})

it.prop(
  "a continued text is complete wherever it was cut, even inside a surrogate pair",
  { begin: Text, end: Text, cuts: Schema.Array(Cut).check(Schema.isMaxLength(5)) },
  ({ begin, cuts, end }) => {
    const text = `#${begin.trim()}\u{1f469}\u200d\u{1f680}${end}`
    for (let at = 1; at < text.length; at++) {
      const sent = text.slice(0, at)
      const from = new ContinuationSeam(sent).text.length
      assert.strictEqual(joinedText(sent, piecesOf(text.slice(from), cuts)), text)
    }
  }
)
