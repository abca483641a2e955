/**
 * The last line of `scripts/test`, from real runs of the runner over small suites in a temporary
 * directory.
 */
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const config = `export default { test: { globals: true, include: ["*.case.ts"], cache: false } }`

/** Runs the suites. Returns the count's line and the runner's exit code. */
const run = async (suites: Readonly<Record<string, string>>) => {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-count-"))
  const countFile = join(directory, "count")
  await writeFile(join(directory, "vitest.config.mjs"), config)
  for (const [name, text] of Object.entries(suites)) await writeFile(join(directory, name), text)
  const code = await new Promise<number>((done) => {
    const runner = execFile(
      process.execPath,
      [
        resolve("node_modules/vitest/vitest.mjs"),
        "run",
        `--root=${directory}`,
        `--reporter=${resolve("scripts/testCount.ts")}`
      ],
      { env: { ...process.env, TEST_COUNT_FILE: countFile } }
    )
    runner.on("close", (exitCode) => done(exitCode ?? -1))
  })
  const line = await readFile(countFile, "utf8")
  await rm(directory, { recursive: true })
  return { line, code }
}

const passing = `test("a", () => {}); describe("b", () => { test("c", () => {}) })`

describe("testCount", () => {
  it("counts what passed, failed and was skipped", async () => {
    const failing = `test("a", () => { throw new Error("no") }); test.skip("b", () => {})`
    assert.deepStrictEqual(await run({ "a.case.ts": passing, "b.case.ts": failing }), {
      line: "1 skipped\n2 passed, 1 failed\n",
      code: 1
    })
  })

  it("leaves the skipped out when there are none", async () => {
    assert.deepStrictEqual(await run({ "a.case.ts": passing }), { line: "2 passed, 0 failed\n", code: 0 })
  })

  it("counts a file that does not load and a hook that fails as failed", async () => {
    const suites = {
      "a.case.ts": passing,
      "b.case.ts": `import "./missing.ts"\ntest("d", () => {})`,
      "c.case.ts": `afterAll(() => { throw new Error("no") }); test("e", () => {})`
    }
    assert.deepStrictEqual(await run(suites), { line: "3 passed, 2 failed\n", code: 1 })
  })

  it("counts an error outside any test as failed", async () => {
    const suites = { "a.case.ts": `test("a", () => { void Promise.reject(new Error("late")) })` }
    assert.deepStrictEqual(await run(suites), { line: "1 passed, 1 failed\n", code: 1 })
  })
})
