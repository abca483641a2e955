/**
 * Hints never leave out a recogniser that finds something: what is found in a text is found as well
 * behind so many blanks that no hints are taken.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { hintsOf, LONGEST_HINTED } from "../../../src/gateway/privacy/Hints.ts"
import { makeScanner } from "../../../src/gateway/privacy/Scanner.ts"
import { secretFormats } from "../../../src/gateway/privacy/SecretFormats.ts"
import { maskAtOnce, scanned } from "./scanning.ts"

const scan = await Effect.runPromise(makeScanner([]))
const BEHIND = " ".repeat(LONGEST_HINTED + 1)

const found = (text: string) =>
  (scanned(scan, text) ?? []).map(({ end, start, type }) => `${type} ${text.slice(start, end)}`)

const repeated = (characters: string, length: number, from: number): string =>
  Array.from({ length }, (_, at) => characters[(from + at * 7) % characters.length]).join("")

const withLuhn = (digits: string): string => {
  const sum = digits
    .split("")
    .toReversed()
    .reduce((total, digit, at) => {
      const value = Number(digit) * (at % 2 === 0 ? 2 : 1)
      return total + (value > 9 ? value - 9 : value)
    }, 0)
  return digits + String((10 - (sum % 10)) % 10)
}

const alphabets = { hex: "0123456789abcdef", upper: "A1B2C3D4E5F6G7H8" } as const

/** A key of each vendor, of the shortest length. */
const vendorKeys = secretFormats.flatMap(({ alphabet, beginnings, min }) =>
  beginnings.map((beginning) => (salt: number) => {
    const characters = alphabet === "hex" || alphabet === "upper" ? alphabets[alphabet] : "a1B2c3D4e5F6g7H8"
    return beginning + repeated(characters, min, salt)
  })
)

const digits = (salt: number, count: number): string => repeated("2345678", count, salt)

const values: ReadonlyArray<(salt: number) => string> = [
  ...vendorKeys,
  (salt) => `${repeated("abcdef", 1 + (salt % 9), salt)}@${repeated("xyz", 1 + (salt % 5), salt)}.co`,
  (salt) => `+41 44 668 ${digits(salt, 2)} ${digits(salt + 1, 2)}`,
  (salt) => `+1 415 555 2${digits(salt, 3)}`,
  (salt) => `(415) 555-2${digits(salt, 3)}`,
  (salt) => `0041 44 668 ${digits(salt, 4)}`,
  (salt) => withLuhn(`4${digits(salt, 14)}`),
  (salt) => withLuhn(`37${digits(salt, 12)}`).replace(/^(\d{4})(\d{6})/, "$1 $2 "),
  (salt) => withLuhn(`36${digits(salt, 11)}`),
  (salt) => `12${1 + (salt % 9)}-45-${digits(salt, 4)}`,
  (salt) => `SSN ${digits(salt, 3)} ${digits(salt, 2)} ${digits(salt, 4)}`,
  (salt) => `${salt % 256}.1.2.${salt % 10}`,
  (salt) => `fe80::${(1 + (salt % 9_999)).toString(16)}`,
  (salt) => `from ::${1 + (salt % 9)}`,
  () => "NO9386011117947",
  () => "gb82 WEST 1234 5698 7654 32",
  () => "MT84MALT011000012345MTLCAST001S",
  (salt) => `eyJhbGciOiJub25lIn0.${repeated("abc", 1 + (salt % 5), salt)}.a`,
  (salt) => `-----BEGIN ${salt % 2 === 0 ? "" : "RSA "}PRIVATE KEY-----\n${"MIIE".repeat(8)}`,
  (salt) => `redis://:${repeated("pqr", 1 + (salt % 5), salt)}@host`,
  (salt) =>
    `${["password", "pwd", "PASSPHRASE"][salt % 3]}${[":", "=", " := ", ' => "'][salt % 4]}hunt${digits(salt, 2)}`,
  (salt) => `${["api_key", "Secret", "private-key"][salt % 3]}=${repeated("abc1", 16, salt)}`,
  (salt) => `${["bearer ", "Bearer\t", "BEARER  "][salt % 3]}${repeated("abc1", 16, salt)}`
]

const around = ["", " ", "\n", String.raw`\n`, ",", '"', "x", "7", "你", ": ", "@", "the token is "]

const Given = Schema.Struct({
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: values.length - 1 })),
  salt: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99_999 })),
  before: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: around.length - 1 })),
  after: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: around.length - 1 })),
  text: Schema.String.check(Schema.isMaxLength(20)),
  cut: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
})

it.prop("what is found with hints is what is found without", { given: Given }, ({ given }) => {
  const value = values[given.which]?.(given.salt) ?? ""
  const whole = `${given.text}${around[given.before]}${value}${around[given.after]}`
  // A shorter text is not searched at all.
  for (const text of [whole, whole.slice(given.cut), given.text].filter(({ length }) => length >= 6)) {
    const all = found(BEHIND + text)
    assert.deepStrictEqual(found(text), all)
    if (hintsOf(text) === 0) assert.isEmpty(all)
    const masked = maskAtOnce(scan, { messages: [{ role: "user", content: text }] })
    assert.lengthOf(masked?.findings ?? [], all.length)
  }
})

it("each kind of value is found alone, and has a hint", () => {
  for (const [which, value] of values.entries()) {
    for (let salt = 0; salt < 5; salt++) {
      const text = value(salt)
      assert.isAbove(hintsOf(text), 0, text)
      assert.deepStrictEqual(found(text), found(BEHIND + text), text)
    }
    assert.isTrue(
      [0, 1, 2, 3, 4].some((salt) => found(value(salt)).length > 0),
      `${which}: ${value(0)}`
    )
  }
})

it("a plain text has no hint", () => {
  for (const text of [
    "",
    "What is a toll gate, and why does one stand on a road?",
    "Take 25 of 12, or more.",
    "你好"
  ]) {
    assert.strictEqual(hintsOf(text), 0, text)
  }
})
