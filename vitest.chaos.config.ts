/** The chaos run: by itself, one scenario after the other, because each takes both cores. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/chaos/*.chaos.ts"],
    pool: "forks",
    fileParallelism: false,
    // Each scenario prints its line by itself.
    disableConsoleIntercept: true,
    testTimeout: 900_000,
    teardownTimeout: 10_000
  }
})
