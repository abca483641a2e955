import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Limits } from "../../../src/store/limits/Limits.ts"
import { LimitTable } from "../../../src/store/limits/LimitTable.ts"
import { assertGrants50Of200, races } from "./limitsRace.ts"
import { leaseOf, limitsSuite, requestOf, roomy } from "./limitsSuite.ts"

describe("LimitsMemory.layer", () => {
  limitsSuite(LimitsMemory.layer)

  it.effect.each(races)("grants 50 of 200 concurrent acquires on a limit of 50 $name", (race) =>
    Effect.gen(function* () {
      yield* assertGrants50Of200([yield* Limits], race)
    }).pipe(Effect.provide(LimitsMemory.layer))
  )
})

describe("LimitTable", () => {
  it("removes idle keys while new ones arrive, so that only keys in use take memory", () => {
    const table = new LimitTable()
    for (let index = 0; index < 100_000; index++) {
      const nowMs = index * 10
      table.acquire(requestOf(`key${index}`, "a", { nowMs, limits: { ...roomy, requestsPerMinute: 60 } }))
      table.release(leaseOf(`key${index}`, "a"))
    }
    // A request is refilled in a second: 100 keys are in use at any moment.
    assert.isAtMost(table.size, 300)
  })

  it("never removes a key with a lease, a used bucket or a debt", () => {
    const table = new LimitTable()
    const limits = { requestsPerMinute: 1, tokensPerMinute: 60, concurrency: 1 }
    table.acquire(requestOf("leased", "a", { limits, leaseMs: 1_000_000 }))
    table.acquire(requestOf("used", "a", { limits, nowMs: 500_000 }))
    table.release(leaseOf("used", "a"))
    table.correct({ keyId: "indebted", limits, delta: 600, nowMs: 500_000 })
    for (let index = 0; index < 1_000; index++) {
      table.acquire(requestOf(`other${index}`, "a", { nowMs: 500_000, leaseMs: 0 }))
    }
    const refusedBy = (keyId: string) => table.acquire(requestOf(keyId, "b", { limits, nowMs: 501_000 })).refusedBy
    assert.deepStrictEqual(["leased", "used", "indebted"].map(refusedBy), ["concurrency", "requests", "tokens"])
  })
})
