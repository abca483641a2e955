/**
 * The test runner. One Postgres and one Redis serve the whole run (test/support/globalSetup.ts); every file makes its own
 * database in them, so files run side by side. Forks, not threads: the embedded database and the child-process tests bring
 * worker threads and signals of their own.
 */
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// Compiled code is kept between the processes of a run, and between runs, as scripts/start does: most of a file's time is loading.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compile", import.meta.url))

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "forks",
    // Files share what they import: nothing of it may be changed by a test. An app of the tests has its own registry of metrics.
    isolate: false,
    // Tests wait more than they compute: one file for each core, not one less.
    maxWorkers: "100%",
    // What a test that passed has logged is nobody's news.
    silent: "passed-only",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["text", "html"],
      reportsDirectory: "coverage"
    }
  }
})
