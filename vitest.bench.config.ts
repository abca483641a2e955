/** Benchmarks of single functions: by themselves, because figures of a busy machine say little. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    benchmark: { include: ["test/bench/*.bench.ts"] },
    // Node runs the sources as they are: the runner's own way of loading costs at every use of an import.
    experimental: { viteModuleRunner: false },
    pool: "forks",
    fileParallelism: false,
    testTimeout: 600_000,
    teardownTimeout: 10_000
  }
})
