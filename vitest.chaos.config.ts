/** The chaos run: by itself, because it takes minutes and both cores. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: { include: ["test/chaos/*.chaos.ts"], pool: "forks", testTimeout: 900_000, teardownTimeout: 10_000 }
})
