/** Every style rule broken once, and a clean file. */
import { assert, describe, it } from "@effect/vitest"
import { parseSource } from "../../scripts/sourceFiles.ts"
import { checkStyle } from "../../scripts/styleRules.ts"

const check = (path: string, text: string) =>
  checkStyle(parseSource(path, text)).map((breach) => `${breach.line} ${breach.message.split(":")[0]}`)

const opening = "/** What it is. */\n"

describe("checkStyle", () => {
  it("finds nothing in a clean file", () => {
    const text = `${opening}import { Effect } from "effect"
// oxlint-disable-next-line no-console -- the operator reads it
export const a = Effect.try({ try: () => JSON.parse("1"), catch: (cause) => new Date(1) })
export { b } from "./b.ts"`
    assert.deepStrictEqual(check("src/domain/A.ts", text), [])
  })

  const broken: ReadonlyArray<readonly [text: string, expected: string]> = [
    ["try { f() } catch {}", "2 try/catch in src"],
    ["export const f = async () => 1", "2 async function in src"],
    ["export const a = { async f() { return 1 } }", "2 async function in src"],
    ["export const a = await f", "2 await in src"],
    ["for await (const a of b) f(a)\nexport {}", "2 await in src"],
    [`\nthrow new Error("no")`, "3 throw in src"],
    ["export const a = Date.now()", "2 the clock read directly in src"],
    ["export const a = new Date()", "2 the clock read directly in src"],
    ["export const a = Math.random()", "2 Math.random in src"],
    ["export const a = 1 // TODO", "2 a marker of unfinished work"],
    ["// oxlint-disable-next-line no-console\nexport const a = 1", "2 a silenced check without a reason"],
    [`export * from "./a.ts"\nexport { b } from "./b.ts"`, "1 a file that only passes exports on"]
  ]
  for (const [text, expected] of broken) {
    it(`reports: ${text}`, () => {
      assert.deepStrictEqual(check("src/domain/A.ts", opening + text), [expected])
    })
  }

  it("reports a missing opening and a long file outside tests, and an empty name everywhere", () => {
    assert.deepStrictEqual(check("scripts/A.ts", "export const a = 1"), ["1 a module opens with a comment"])
    assert.deepStrictEqual(check("test/utils.ts", "export const a = 1"), [
      "1 a name that says nothing about its content"
    ])
    assert.deepStrictEqual(check("src/domain/A.ts", `${opening}${"f()\n".repeat(300)}`), ["302 more than 300 lines"])
    assert.deepStrictEqual(check("src/domain/A.ts", `${opening}${"f()\n".repeat(299)}`), [])
    assert.deepStrictEqual(check("test/A.ts", "f()\n".repeat(400)), [])
  })

  it("reports comment lines above 100 columns, but no code or directives", () => {
    const wide = "x".repeat(98)
    const reported = (path: string, text: string) => check(path, `${opening}${text}\nf()`)
    assert.deepStrictEqual(reported("src/domain/A.ts", `// ${wide}`), ["2 a comment line of more than 100 columns"])
    assert.deepStrictEqual(reported("scripts/A.ts", `/**\n * ok\n * ${wide}\n */`), [
      "4 a comment line of more than 100 columns"
    ])
    assert.deepStrictEqual(reported("src/domain/A.ts", `// ${wide.slice(1)}`), [])
    assert.deepStrictEqual(reported("src/domain/A.ts", `export const a = "${wide}" // b`), [])
    assert.deepStrictEqual(reported("src/domain/A.ts", `// oxlint-disable-next-line a -- ${wide}`), [])
  })

  it("lets tests and scripts throw, await and read the clock", () => {
    assert.deepStrictEqual(check("test/A.ts", `${opening}if (await f()) throw Date.now()`), [])
  })
})
