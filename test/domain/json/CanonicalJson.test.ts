/**
 * Canonical JSON represents the whole value and not the order of members. Large values come in
 * pieces of bounded size.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { canonicalPieces, feed, LONG_CHARACTERS, PIECE_CHARACTERS } from "../../../src/domain/json/CanonicalJson.ts"
import { makeTurns } from "../../../src/domain/runtime/Turns.ts"
import { reordered } from "../../support/reordered.ts"
import { shortTurns } from "../../support/turns.ts"

const piecesOf = (value: unknown): ReadonlyArray<string> => {
  const pieces = canonicalPieces(value)
  const all: Array<string> = []
  for (;;) {
    const { done, value: piece } = pieces.next()
    all.push(piece)
    if (done === true) return all
  }
}
const textOf = (value: unknown) => piecesOf(value).join("")

/** The value of a canonical text: JSON, once its long strings are escaped. */
const valueOf = (text: string): unknown => {
  const token = /"(?:[^"\\]|\\.)*"|(\d+)"|\d+|[^"\d]+/gsy
  let json = ""
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [whole, length] = found
    if (length === undefined) json += whole
    else {
      const from = token.lastIndex
      json += JSON.stringify(text.slice(from, (token.lastIndex = from + Number(length))))
    }
  }
  return JSON.parse(json)
}

/** Without members that have no value. */
const withoutNulls = (value: Schema.Json): Schema.Json => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== "object" || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]))
}

/** A value whose parts straddle the end of a piece. */
const straddling = (value: Schema.Json, before: number): Schema.Json => [
  "a".repeat(PIECE_CHARACTERS - before),
  value,
  { [`${"b".repeat(PIECE_CHARACTERS)}😀`]: value, c: `${"c".repeat(PIECE_CHARACTERS - 1)}😀\ud83d`, value }
]

describe("CanonicalJson", () => {
  it.prop(
    "one text whatever the order of members, and no other value has it",
    { value: Schema.Json, before: Schema.Literals([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 20, 40]) },
    ({ before, value }) => {
      for (const either of [value, straddling(value, before)]) {
        const text = textOf(either)
        assert.strictEqual(textOf(reordered(either)), text)
        // The text represents the whole value, so different values have different texts.
        assert.deepStrictEqual(valueOf(text), JSON.parse(JSON.stringify(withoutNulls(either))))
      }
    }
  )

  it("is plain JSON but for long strings", () => {
    const members = { b: [1, null, undefined, true, "é\n"], a: { d: undefined, c: {} }, e: null, f: [] }
    assert.strictEqual(textOf(members), '{"a":{"c":{}},"b":[1,null,null,true,"é\\n"],"f":[]}')
    assert.deepStrictEqual([null, undefined, 1.5, "a", false].map(textOf), ["null", "null", "1.5", '"a"', "false"])
  })

  it("names that an object would move, or take for a prototype, stay where they are", () => {
    const members = JSON.parse('{"b":1,"a":2,"10":3,"9":4,"__proto__":{"c":5}}')
    assert.strictEqual(textOf(members), '{"10":3,"9":4,"__proto__":{"c":5},"a":2,"b":1}')
  })

  it("tells a number beyond 2^53 from its neighbours, and from an object that looks like one", () => {
    const texts = ["9007199254740993", "9007199254740995"].map((digits) => textOf({ seed: JSON.rawJSON(digits) }))
    assert.deepStrictEqual(texts, ['{"seed":9007199254740993}', '{"seed":9007199254740995}'])
    assert.strictEqual(textOf({ seed: { rawJSON: "1" } }), '{"seed":{"rawJSON":"1"}}')
  })

  it("writes a long string as it is, behind its length", () => {
    const long = `"${"\\".repeat(LONG_CHARACTERS)}`
    assert.deepStrictEqual(piecesOf([long, 1]), [`[${long.length}"`, long, ",1]"])
    assert.deepStrictEqual(piecesOf("a".repeat(LONG_CHARACTERS - 1)), [`"${"a".repeat(LONG_CHARACTERS - 1)}"`])
  })

  it("splits no pair of surrogates, and escapes a string with half of one", () => {
    const whole = `${"a".repeat(PIECE_CHARACTERS - 1)}😀b`
    assert.deepStrictEqual(piecesOf(whole), [`${whole.length}"`, whole.slice(0, -3), "😀b", ""])
    const [first, second] = ["\ud83d", "\ud83e"].map((half) => piecesOf(`${"a".repeat(LONG_CHARACTERS)}${half}`))
    assert.notDeepEqual(first, second)
    assert.isTrue([...(first ?? []), ...(second ?? [])].every((piece) => piece.isWellFormed()))
  })

  it("sorts few names and many", () => {
    for (const count of [5, 32, 33, 100]) {
      const names = Array.from({ length: count }, (_, at) => `n${(at * 7) % count}`)
      const members = Object.fromEntries(names.map((name) => [name, 1]))
      assert.deepStrictEqual(Object.keys(JSON.parse(textOf(members)) as object), [...new Set(names)].sort())
    }
  })

  it("a short value is one piece, and pieces are of bounded size", () => {
    assert.lengthOf(piecesOf({ text: Array.from({ length: 120 }, () => "a".repeat(500)) }), 1)
    const large = {
      text: "\u0001".repeat(1_000_000),
      list: Array.from({ length: 200_000 }, () => 1),
      messages: Array.from({ length: 20_000 }, () => ({ role: "user", content: "Hi" })),
      empty: Array.from({ length: 100_000 }, () => ({})),
      absent: Array.from({ length: 10_000 }, () => ({ a: null, b: null, c: null }))
    }
    const pieces = piecesOf(large)
    // An escape takes six characters.
    assert.isAtMost(Math.max(...pieces.map(({ length }) => length)), 7 * PIECE_CHARACTERS)
    assert.isAbove(piecesOf(large.list).length, 10)
    assert.isAbove(piecesOf(large.empty).length, 10)
    assert.isAbove(piecesOf(large.absent).length, 3)
    assert.isAbove(pieces.length, 50)
  })

  it.effect("feeds a hash with all pieces: those of a short value at once, others in turns", () =>
    Effect.gen(function* () {
      const texts: Array<string> = []
      const sink = { update: (text: string) => texts.push(text) }
      const { taken, turns } = shortTurns()
      yield* feed(canonicalPieces({ b: 1, a: 2 }), sink, turns)
      assert.deepStrictEqual(texts.splice(0), ['{"a":2,"b":1}'])
      assert.strictEqual(taken.turns, 0)

      const long = { b: "b".repeat(1_000_000), a: Array.from({ length: 100_000 }, (_, at) => at) }
      yield* feed(canonicalPieces(long), sink, turns)
      assert.strictEqual(texts.splice(0).join(""), textOf(long))
      assert.isAbove(taken.turns, 15)
      yield* feed(canonicalPieces(long), sink, yield* makeTurns)
      assert.strictEqual(texts.join(""), textOf(long))
    })
  )
})
