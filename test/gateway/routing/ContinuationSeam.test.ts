import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { ContinuationSeam } from "../../../src/gateway/routing/ContinuationSeam.ts"

/** What the client reads: what it had, and what of the pieces is let through. */
const joinedText = (sent: string, pieces: ReadonlyArray<string>): string => {
  const joint = new ContinuationSeam(sent)
  return sent + pieces.map((piece) => joint.take(piece)).join("") + joint.flush()
}

const Text = Schema.String.check(Schema.isMaxLength(40))
const Cut = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))

/** `text` in pieces that end at the cuts. */
const piecesOf = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
  const ends = [...cuts.filter((cut) => cut < text.length).toSorted((a, b) => a - b), text.length]
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end))
}

it.prop(
  "a provider that repeats all it was given has the repeat taken out, however its text is cut",
  { begin: Text, end: Text, cuts: Schema.Array(Cut).check(Schema.isMaxLength(5)) },
  ({ begin, cuts, end }) => {
    const sent = `${begin.trim()}The beginning`
    assert.strictEqual(joinedText(sent, piecesOf(`${sent}${end}`, cuts)), `${sent}${end}`)
  }
)

it.prop(
  "what is no repeat loses nothing",
  { begin: Text, end: Text, cuts: Schema.Array(Cut).check(Schema.isMaxLength(5)) },
  ({ begin, cuts, end }) => {
    const sent = `${begin.trim()}#`
    assert.strictEqual(joinedText(sent, piecesOf(`!${end}`, cuts)), `${sent}!${end}`)
  }
)

it("blanks that the client has are asked for neither again nor twice", () => {
  assert.strictEqual(new ContinuationSeam("one two \n").text, "one two")
  assert.strictEqual(joinedText("one two ", [" three"]), "one two three")
  assert.strictEqual(joinedText("one two ", ["three"]), "one two three")
  assert.strictEqual(joinedText("one\n\n", ["\n", "\n", " two"]), "one\n\n two")
  assert.strictEqual(joinedText("one two ", ["one two", " three"]), "one two three")
})

it("half a repeat is none: it comes out when the text ends, or goes its own way", () => {
  assert.strictEqual(joinedText("la la la", [" la", " la"]), "la la la la la")
  assert.strictEqual(joinedText("one two three", ["one", " two"]), "one two threeone two")
  assert.strictEqual(joinedText("one two three", ["one two", " four"]), "one two threeone two four")
})

it("a text of a letter or two may come again", () => {
  assert.strictEqual(joinedText("ha", ["ha", "!"]), "haha!")
})

it("a text that is one piece again and again goes on with itself", () => {
  assert.strictEqual(joinedText("a".repeat(20), ["a".repeat(15), "a".repeat(25)]), "a".repeat(60))
  assert.strictEqual(joinedText("ha ha ha ", ["ha ha ", "ha"]), "ha ha ha ha ha ha")
  assert.strictEqual(joinedText("- x\n- x\n", ["- x\n", "- x\n", "- y"]), "- x\n- x\n- x\n- x\n- y")
  // It is one piece and a part of it: what follows begins elsewhere, so a repeat can be told.
  assert.strictEqual(joinedText("abcabcab", ["abcabcab", "cabc"]), "abcabcabcabc")
})

it("a long text is looked through in one pass, whatever it is", () => {
  const text = `${"a".repeat(500_000)}b${"a".repeat(500_000)}`
  assert.strictEqual(joinedText(text, [text, "c"]), `${text}c`)
})

it("half a character is not asked to be gone on from, and is made whole", () => {
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
  // One that goes on otherwise loses nothing.
  assert.strictEqual(joinedText(`one${first}`, [" two"]), `one${first} two`)
  assert.strictEqual(joinedText("one \u{1f600}", [" two"]), "one \u{1f600} two")
})

it.prop(
  "wherever a text is cut, a provider that goes on makes it whole, in the middle of a character too",
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
