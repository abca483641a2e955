/** The bound of a text's tokens, against the tokenizer and against its tables. */
import { assert, it } from "@effect/vitest"
import { clearMergeCache, countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { createRequire } from "node:module"
import { beforeAll } from "vitest"
import { Effect } from "effect"
import { prose } from "../../../scripts/bench/prose.ts"
import { asciiPairs, commonCharacters } from "../../../src/gateway/tokens/CommonCharacters.ts"
import { commonLowerWords, commonWords } from "../../../src/gateway/tokens/CommonWords.ts"
import { boundOf } from "../../../src/gateway/tokens/TokenBound.ts"
import { countText, loadTables } from "../../../src/gateway/tokens/Tokens.ts"
import { codeSample, jsonSample, scriptSamples } from "./texts.ts"

beforeAll(() => Effect.runPromise(loadTables))

type Ranks = ReadonlyArray<string | ReadonlyArray<number> | undefined>
const { default: ranks }: { readonly default: Ranks } = createRequire(import.meta.url)(
  "gpt-tokenizer/cjs/bpeRanks/o200k_base"
)
/** Every token, as bytes. */
const tokens = new Set(
  ranks.flatMap((rank) =>
    rank === undefined ? [] : [(typeof rank === "string" ? Buffer.from(rank) : Buffer.from(rank)).toString("latin1")]
  )
)
const isToken = (text: string) => tokens.has(Buffer.from(text).toString("latin1"))
const whole = (text: string) => countTokens(text, { disallowedSpecial: new Set<string>() })
const wordsOf = (list: string) => list.trim().split(/\s/)
const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1)
const signs = [...Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)), "\t"].filter((sign) =>
  /[^a-z0-9]/i.test(sign)
)

/** Deterministic. */
const random = (seed: number) => {
  let state = seed
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  return { below, of: <A>(list: ReadonlyArray<A>): A => list[below(list.length)] as A }
}

it("each common word is one token, also after a blank, and at most two after a sign", () => {
  const words = wordsOf(commonWords)
  for (const word of [...words, ...words.map(capital), ...wordsOf(commonLowerWords)]) {
    assert.isTrue(isToken(word) && isToken(` ${word}`), word)
    const many = signs.filter((sign) => !isToken(sign + word) && whole(sign + word) > 2)
    assert.deepStrictEqual(many, [], word)
    clearMergeCache()
  }
})

it("the common characters and pairs are those of the tables", () => {
  let at = 0
  const common = new Set<number>()
  for (const range of wordsOf(commonCharacters)) {
    const [distance = "", length = "1"] = range.split(".")
    at += parseInt(distance, 36)
    for (let left = parseInt(length, 36); left > 0; left--) common.add(at++)
  }
  for (let code = 128; code < 0x20000; code++) {
    const isOne = code < 0xd800 || (code > 0xdfff && code !== 0xfeff)
    if (isOne) assert.strictEqual(common.has(code), isToken(String.fromCodePoint(code)))
  }
  const pairs = Buffer.from(asciiPairs, "base64")
  for (let pair = 0; pair < 128 * 128; pair++) {
    const isPair = (((pairs[pair >> 3] ?? 0) >> (pair & 7)) & 1) === 1
    assert.strictEqual(isPair, isToken(String.fromCharCode(pair >> 7, pair & 127)))
  }
})

it("the tables have the properties that the bound rests on", () => {
  for (const [blank, length] of [
    [" ", 63],
    ["\t", 15],
    ["\n", 9]
  ] as const) {
    for (let count = 1; count <= length; count++) assert.isTrue(isToken(blank.repeat(count)))
  }
  for (let number = 0; number < 1_000; number++)
    for (let width = 1; width <= 3; width++) assert.isTrue(isToken(String(number).padStart(width, "0").slice(-width)))
  const between: Array<string> = []
  for (const token of tokens) {
    const bytes = Buffer.from(token, "latin1")
    if (token === bytes.toString() || bytes.length < 2) continue
    const first = bytes.findIndex((byte) => byte < 0x80 || byte >= 0xc0)
    const last = bytes.findLastIndex((byte) => byte >= 0xc0)
    const lead = bytes[last] ?? 0
    const missing = (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2) - (bytes.length - last)
    // A token that begins inside a character and ends inside another.
    if (first > 0 && last >= first && missing > 0) between.push(bytes.toString("hex"))
    // A token that ends with the first byte of a long character has nothing or a space before it.
    if (lead >= 0xe0 && last > 0 && last === bytes.length - 1) assert.strictEqual(bytes[last - 1], 0x20)
  }
  assert.sameMembers(between, ["a3e183", "80e0b8", "82e0b0", "a0e183", "9ae19e", "81efbd", "a1d5", "99e0a78de0a6"])
})

const range = (from: number, to: number) => (roll: ReturnType<typeof random>) =>
  String.fromCodePoint(from + roll.below(to - from + 1))
const listed = (list: ReadonlyArray<string>) => (roll: ReturnType<typeof random>) => roll.of(list)
/** What texts are made of: scripts, signs, blanks, words, and any tokens. */
const alphabets = [
  ...[97, 65, 33, 91, 0].map((from) => range(from, from + 25)),
  range(48, 57),
  ...[" ", "\n", "\t", "\r\n", "\u00a0", "\u3000"].map((blank) => listed([blank])),
  ...[0x80, 0x100, 0x250, 0x370, 0x400, 0x530, 0x600, 0x900, 0x980, 0xe00, 0x10a0, 0x1780, 0x1e00].map((from) =>
    range(from, from + 0x7f)
  ),
  ...[0x2000, 0x2500, 0x3040, 0x4e00, 0x9000, 0xac00, 0xd800, 0xdf00, 0xff00, 0x1f300, 0x1f900, 0x2f000].map((from) =>
    range(from, from + 0xff)
  ),
  listed([" the", "'s", "'ll", " don't", "'Sit", "it'therefore", "\n    ", "//", ");\n", '":"', "\n/path", "---"]),
  listed(["jq", "zx", "vq", "JQ", "Xq", "aB", "XMLHttp", "_id", "(word", "\tif", " in the"]),
  listed([...wordsOf(commonWords), ...wordsOf(commonWords).map(capital)]),
  listed(ranks.flatMap((rank) => (typeof rank === "string" ? [rank] : [])))
]

it("no text of any script has more tokens than its bound, whole or in slices", () => {
  const roll = random(20_261_122)
  for (let round = 0; round < 500; round++) {
    const few = Array.from({ length: 1 + roll.below(4) }, () => roll.of(alphabets))
    const length = roll.of([4, 12, 50, 300, 700, 1_400])
    let text = ""
    while (text.length < length)
      text += roll
        .of(few)(roll)
        .repeat(roll.below(9) === 0 ? roll.of([3, 40, 150, 600]) : 1)
    const most = boundOf(text).most
    assert.isAtLeast(most, countText(text), JSON.stringify(text))
    // The tokenizer takes quadratic time on long runs.
    if (!/\S{300}/u.test(text)) assert.isAtLeast(most, whole(text), JSON.stringify(text))
  }
})

it("every character and every pair of common ones is within its bound", () => {
  for (let code = 0; code < 0x3000; code += code < 0x600 ? 1 : 3) {
    const text = String.fromCodePoint(code)
    for (const around of [text, ` ${text}`, `a${text}`, `${text}a`, `${text}\n`, `${text}${text}`, `(${text}/`])
      assert.isAtLeast(boundOf(around).most, whole(around), JSON.stringify(around))
  }
})

const bytes = Uint8Array.from({ length: 6_000 }, (_, at) => Math.imul(at + 1, 2_654_435_761) >>> 13)
/** The most that the bound may exceed the count, by the kind of text. */
const ratios: ReadonlyArray<readonly [string, string, number]> = [
  ["English prose", prose(20_000), 1.6],
  ["program", codeSample, 1.7],
  ["JSON", jsonSample, 1.6],
  ["base64", Buffer.from(bytes).toString("base64"), 1.2],
  ["digits", "31415926535".repeat(200), 1.1],
  ["Chinese", scriptSamples.Chinese, 1.8],
  ["Japanese", scriptSamples.Japanese, 1.8],
  ["Korean", scriptSamples.Korean, 2.3],
  ["German", scriptSamples.German, 2.9],
  ["Spanish", scriptSamples.Spanish, 2.7],
  ["Russian", scriptSamples.Russian, 4.4],
  ["Arabic", scriptSamples.Arabic, 3.4],
  ["Hindi", scriptSamples.Hindi, 4.3],
  ["emoji", scriptSamples.emoji, 2.3]
]

it.each(ratios)("the bound of %s is near its count", (_, text, ratio) => {
  const counted = countText(text)
  assert.isAtLeast(boundOf(text).most, counted)
  assert.isAtMost(boundOf(text).most / counted, ratio)
})
