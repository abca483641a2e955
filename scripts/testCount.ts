/**
 * A vitest reporter that writes the line `N passed, N failed`, after `N skipped` if there are any,
 * to the file named by TEST_COUNT_FILE. Errors outside of tests count too: a file that does not
 * load, and an unhandled error, each count as one failure.
 */
import { writeFileSync } from "node:fs"
import { type Reporter, type SerializedError, type TestModule } from "vitest/node"

/** The line of a run. `modules`: the test files. `unhandled`: errors outside of them. */
export const countLine = (modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>): string => {
  const count = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 }
  for (const module of modules) {
    const failedBefore = count.failed
    for (const test of module.children.allTests()) count[test.result().state]++
    if (!module.ok() && count.failed === failedBefore) count.failed++
  }
  // A test that did not run counts as failed.
  count.failed += count.pending
  return `${count.skipped === 0 ? "" : `${count.skipped} skipped\n`}${count.passed} passed, ${count.failed} failed`
}

export default class TestCount implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>): void {
    const file = process.env["TEST_COUNT_FILE"]
    if (file !== undefined) writeFileSync(file, `${countLine(modules, unhandled)}\n`)
  }
}
