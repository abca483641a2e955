/**
 * A vitest reporter that writes the line `N passed, N failed`, after `N skipped` where there are any, to the file that
 * TEST_COUNT_FILE names. Exact also when things go wrong outside a test: a file that does not load, and an error that nobody
 * caught, each count as one failed.
 */
import { writeFileSync } from "node:fs"
import { type Reporter, type SerializedError, type TestModule } from "vitest/node"

/** The line for a run. `modules` are the test files; `unhandled` the errors outside any of them. */
export const countLine = (modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>): string => {
  const count = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 }
  for (const module of modules) {
    const failedBefore = count.failed
    for (const test of module.children.allTests()) count[test.result().state]++
    if (!module.ok() && count.failed === failedBefore) count.failed++
  }
  // A test that never got to run is nobody's success.
  count.failed += count.pending
  return `${count.skipped === 0 ? "" : `${count.skipped} skipped\n`}${count.passed} passed, ${count.failed} failed`
}

export default class TestCount implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>): void {
    const file = process.env["TEST_COUNT_FILE"]
    if (file !== undefined) writeFileSync(file, `${countLine(modules, unhandled)}\n`)
  }
}
