/**
 * The test runner. Four projects: `suite`, the tests; `limits`, tests of processor time and memory; `chaos`, faults under
 * load; `functions`, benchmarks of single functions. `vitest run` runs the suite and `vitest bench` the benchmarks; what else is to run is named with `--project`.
 */
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { type TestUserConfig } from "vitest/node"

// Compiled code is kept between the processes of a run, and between runs, as scripts/start does: most of a file's time is loading.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compile", import.meta.url))

const test: TestUserConfig = {
  // Without this filter every run would run all projects. `--project` on the command line replaces it.
  project: ["suite", "functions (bench)"],
  // What a test that passed has logged is nobody's news.
  silent: "passed-only",
  teardownTimeout: 10_000,
  coverage: {
    provider: "v8",
    include: ["src/**/*.ts"],
    reporter: ["text", "html"],
    reportsDirectory: "coverage"
  },
  projects: [
    {
      test: {
        name: "suite",
        include: ["test/**/*.test.ts"],
        // One Postgres and one Redis serve the whole run; every file makes its own database in them, so files run side by side.
        globalSetup: ["test/support/globalSetup.ts"],
        setupFiles: ["test/support/properties.ts"],
        // Forks, not threads: the embedded database and the child-process tests bring worker threads and signals of their own.
        pool: "forks",
        // Files share what they import: nothing of it may be changed by a test. An app of the tests has its own registry of metrics.
        isolate: false,
        // Tests wait more than they compute: one file for each core, not one less.
        maxWorkers: "100%",
        testTimeout: 30_000,
        hookTimeout: 60_000
      }
    },
    {
      test: {
        name: "limits",
        include: ["test/limits/*.limits.ts"],
        pool: "forks",
        // What is measured is the process itself.
        fileParallelism: false,
        testTimeout: 60_000
      }
    },
    {
      test: {
        name: "chaos",
        include: ["test/chaos/*.chaos.ts"],
        pool: "forks",
        // One scenario after the other, because each takes both cores.
        fileParallelism: false,
        // Each scenario prints its line by itself.
        disableConsoleIntercept: true,
        testTimeout: 900_000
      }
    },
    {
      test: {
        name: "functions",
        include: [],
        benchmark: { include: ["test/bench/*.bench.ts"] },
        // Node runs the sources as they are: the runner's own way of loading costs at every use of an import.
        experimental: { viteModuleRunner: false },
        pool: "forks",
        fileParallelism: false,
        testTimeout: 600_000
      }
    }
  ]
}

export default defineConfig({ test })
