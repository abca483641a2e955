/**
 * A search in windows finds the same as a search of the whole text, and a search in turns the same
 * as one without a pause.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { makeDice } from "../../../scripts/privacyEval/Dice.ts"
import { valueOf } from "../../../scripts/privacyEval/Values.ts"
import { allEntities } from "../../../src/domain/Privacy.ts"
import { matchesIn } from "../../../src/gateway/privacy/Matches.ts"
import { makeScanner } from "../../../src/gateway/privacy/Scanner.ts"
import { scanned } from "./scanning.ts"

const scan = await Effect.runPromise(
  makeScanner([{ name: "employee", pattern: String.raw`\bEMP-\d{6}\b|^begin|end$` }])
)
const wanted = new Set([...allEntities, "employee"])
/** The window sizes of RE2's search and of the others. */
const windows = [8_192, 16_384, 32_768]

const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

it.prop("a value is found wherever a window ends inside it, and nothing else is found", { seed: Seed }, ({ seed }) => {
  const dice = makeDice(seed)
  const found = (text: string, from: number) =>
    (scanned(scan, text, wanted) ?? []).map(({ end, start, type }) => `${type} ${start - from}-${end - from}`)
  const own = dice.pick(["EMP-123456", "xEMP-123456", "begin", "the end", ""])
  const near = Array.from({ length: 4 }, () => valueOf(dice, dice.pick(allEntities)).text).join(
    dice.pick([" ", "; ", "\n"])
  )
  const text = `${near} ${own} and so on.`
  const alone = found(`.. ${text}`, 3)
  for (const window of windows) {
    // The window ends somewhere in the text.
    const before = ". ".repeat(window / 2).slice(dice.int(0, text.length))
    const from = before.length
    assert.deepStrictEqual(found(before + text, from), alone, `at ${from}`)
  }
})

it.each([/\d+/g, /(?<!a)b{1,3}(?!c)/g, /a[^a]{0,300}a/g, /\bab|ab\b/g])("%s in windows is %s in one", (pattern) => {
  const dice = makeDice(11)
  for (let round = 0; round < 20; round++) {
    const pieces = Array.from({ length: 6 }, () =>
      dice.pick(["1", "ab", "b", "bc", " ", "2"]).repeat(dice.int(1, 9_000))
    )
    const text = pieces.join("")
    const inWindows = [...matchesIn(text, pattern)].flatMap((found) =>
      found === null ? [] : [[found.index, found[0]]]
    )
    assert.deepStrictEqual(
      inWindows,
      Array.from(text.matchAll(pattern), ({ 0: found, index }) => [index, found])
    )
  }
})
