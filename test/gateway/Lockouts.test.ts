import { assert, it } from "@effect/vitest"
import { Lockouts } from "../../src/gateway/Lockouts.ts"
import { candidateWith } from "./orders.ts"

const small = candidateWith("alpha")
const large = candidateWith("alpha", { id: "test/large" })
const other = candidateWith("beta")

it("a refused key closes the whole provider for half a minute, and nobody else", () => {
  for (const status of [400, 401, 402, 429]) {
    const lockouts = new Lockouts()
    assert.isTrue(lockouts.isEmpty)
    assert.strictEqual(lockouts.remainingMs(small, 0), 0)
    assert.isTrue(lockouts.add(small, status, 1_000))
    assert.isFalse(lockouts.isEmpty)
    assert.strictEqual(lockouts.remainingMs(small, 1_000), 30_000)
    assert.strictEqual(lockouts.remainingMs(large, 30_999), 1)
    assert.strictEqual(lockouts.remainingMs(large, 31_000), 0)
    assert.strictEqual(lockouts.remainingMs(other, 1_000), 0)
  }
})

it("a forbidden model closes that model alone", () => {
  const lockouts = new Lockouts()
  lockouts.add(small, 403, 0)
  assert.strictEqual(lockouts.remainingMs(small, 0), 30_000)
  assert.strictEqual(lockouts.remainingMs(large, 0), 0)
})

it("is news once until there was an answer, which lifts it", () => {
  const lockouts = new Lockouts()
  assert.isTrue(lockouts.add(small, 401, 0))
  assert.isFalse(lockouts.add(large, 401, 60_000))
  lockouts.lift(other)
  assert.isFalse(lockouts.add(small, 401, 120_000))
  lockouts.lift(small)
  assert.isTrue(lockouts.isEmpty)
  assert.strictEqual(lockouts.remainingMs(small, 120_000), 0)
  assert.isTrue(lockouts.add(small, 401, 120_000))
})
