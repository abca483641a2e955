/** Time limits of real sockets, on a clock that the test moves. */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { WaitLimit } from "../../../src/providers/transport/WaitLimit.ts"

describe("WaitLimit", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const counted = () => {
    const over = { times: 0 }
    return { over, limit: new WaitLimit(() => over.times++) }
  }

  it("is over when the wait was too long, and only once", () => {
    const { limit, over } = counted()
    limit.begin(100)
    vi.advanceTimersByTime(99)
    assert.strictEqual(over.times, 0)
    vi.advanceTimersByTime(1)
    assert.strictEqual(over.times, 1)
    vi.advanceTimersByTime(1_000)
    assert.strictEqual(over.times, 1)
  })

  it("counts each wait from its own beginning, with one timer for all of them", () => {
    const { limit, over } = counted()
    for (let at = 0; at < 50; at++) {
      limit.begin(100)
      assert.strictEqual(vi.getTimerCount(), 1)
      vi.advanceTimersByTime(60)
      limit.meet()
    }
    assert.strictEqual(over.times, 0)
    limit.begin(100)
    vi.advanceTimersByTime(99)
    assert.strictEqual(over.times, 0)
    vi.advanceTimersByTime(2)
    assert.strictEqual(over.times, 1)
  })

  it("takes a shorter limit after a longer one", () => {
    const { limit, over } = counted()
    limit.begin(60_000)
    limit.meet()
    limit.begin(20)
    vi.advanceTimersByTime(20)
    assert.strictEqual(over.times, 1)
  })

  it("leaves no timer behind, and does not count while nobody waits", () => {
    const { limit, over } = counted()
    limit.begin(100)
    limit.meet()
    vi.advanceTimersByTime(1_000)
    assert.strictEqual(vi.getTimerCount(), 0)
    limit.begin(100)
    limit.end()
    assert.strictEqual(vi.getTimerCount(), 0)
    assert.strictEqual(over.times, 0)
  })
})
