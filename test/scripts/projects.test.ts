/**
 * The files that the commands run: the suite by default; limits, chaos and benchmarks only by name.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = promisify(execFile)

/** The files that vitest would run, each with its project. */
const files = async (...args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const vitest = ["node_modules/vitest/vitest.mjs", "list", "--filesOnly", ...args]
  const { stdout } = await run(process.execPath, vitest, { env: { ...process.env, NO_COLOR: "1" } })
  return stdout.trim().split("\n")
}

describe("vitest.config.ts", () => {
  it("runs the suite where no project is named", async () => {
    const found = await files()
    assert.include(found, "[suite] test/scripts/projects.test.ts")
    assert.deepStrictEqual(
      found.filter((file) => !/^\[suite\] test\/.+\.test\.ts$/.test(file)),
      []
    )
  })

  it("runs chaos where it is named, and nothing beside it", async () => {
    const found = await files("--project", "chaos")
    assert.include(found, "[chaos] test/chaos/Kills.chaos.ts")
    assert.isTrue(found.every((file) => /^\[chaos\] test\/chaos\/\w+\.chaos\.ts$/.test(file)))
  })
})
