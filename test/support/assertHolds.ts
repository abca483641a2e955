/**
 * The receipt of a generation holds: its attempts and its lines add up to the bill, and the times
 * of the attempts lie within the request.
 */
import { assert } from "@effect/vitest"
import { attemptCosts } from "../../src/domain/pricing/AttemptCosts.ts"
import { type Generation } from "../../src/domain/Generation.ts"

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0)

type Receipt = Omit<Generation, "createdAtMs" | "id" | "keyId" | "ownerId">

export const assertHolds = (generation: Receipt): void => {
  const { attempts, cacheHit, cost, latencyMs, usage } = generation
  const told = JSON.stringify(generation)
  const costs = attemptCosts(generation)
  if (!cacheHit) {
    assert.strictEqual(sumOf(costs.map(({ totalNano }) => totalNano)), cost.totalNano, told)
    assert.strictEqual(sumOf(costs.map(({ promptTokens }) => promptTokens)), usage.promptTokens, told)
    assert.strictEqual(sumOf(costs.map(({ completionTokens }) => completionTokens)), usage.completionTokens, told)
  }
  assert.strictEqual(sumOf(cost.lines.map(({ nano }) => nano)), cost.totalNano, told)
  assert.strictEqual(cost.billedNano, cost.totalNano + cost.markupNano, told)
  attempts.forEach(({ endedMs = -1, startedMs = -1, status }, at) => {
    const { completionTokens = -1, promptTokens = -1, totalNano = -1 } = costs[at] ?? {}
    assert.isTrue(totalNano >= 0 && promptTokens >= 0 && completionTokens >= 0, told)
    if (status === "skipped") assert.strictEqual(totalNano, 0, told)
    assert.isTrue(startedMs >= 0 && endedMs >= startedMs && endedMs <= latencyMs, told)
  })
}
