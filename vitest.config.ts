/**
 * The test runner. One Postgres and one Redis serve the whole run (test/support/globalSetup.ts); every file makes its own
 * database in them, so files run side by side. Forks, not threads: the embedded database and the child-process tests bring
 * worker threads and signals of their own.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "forks",
    // Tests wait more than they compute: one file for each core, not one less.
    maxWorkers: "100%",
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
