/** The cost of counting tokens: in proportion to the text, and bounded for the longest reply. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { beforeAll } from "vitest"
import { countReply, countText, loadTables } from "../../src/gateway/tokens/Tokens.ts"

beforeAll(() => Effect.runPromise(loadTables))

const cpuMicros = (run: () => void): number => {
  const before = process.threadCpuUsage()
  run()
  return process.threadCpuUsage(before).user
}

it("a run of spaces costs time in proportion to its length", () => {
  const timed = (length: number) => cpuMicros(() => countText(" ".repeat(length)))
  timed(65_536)
  const small = timed(65_536)
  // Sixteen times as long; quadratic would be 256 times. The margin allows for a busy machine.
  assert.isBelow(timed(1_048_576), 100 * (small + 5_000))
})

it("a reply of 30 MB is counted in less than a second", () => {
  const content = "one two three ".repeat(2_200_000)
  const choices = [
    { index: 0, message: { role: "assistant" as const, content, reasoning: content }, finish_reason: "stop" }
  ]
  // Counting all of it takes seconds.
  assert.isBelow(
    cpuMicros(() => countReply({ choices, usage: null, systemFingerprint: null })),
    1_000_000
  )
})
