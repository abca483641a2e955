/**
 * Concurrent acquires on one key. Exactly as many are granted as the limit allows, whichever limit
 * it is.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { type RateLimits } from "../../../src/domain/Key.ts"
import { type Limits } from "../../../src/store/limits/Limits.ts"
import { newKeyId, requestOf, roomy } from "./limitsSuite.ts"

/** Each allows 50 acquires of `tokens` at one moment. */
export const races: ReadonlyArray<{ readonly name: string; readonly limits: RateLimits; readonly tokens: number }> = [
  { name: "concurrency", limits: { ...roomy, concurrency: 50 }, tokens: 1 },
  { name: "requests", limits: { ...roomy, requestsPerMinute: 50 }, tokens: 1 },
  { name: "tokens", limits: { ...roomy, tokensPerMinute: 50 * 20 }, tokens: 20 }
]

/**
 * Sends 200 acquires for a new key through the clients in turn, and asserts that 50 are granted.
 */
export const assertGrants50Of200 = Effect.fnUntraced(function* (
  clients: ReadonlyArray<Limits["Service"]>,
  race: (typeof races)[number]
) {
  const keyId = newKeyId()
  const verdicts = yield* Effect.forEach(
    Array.from({ length: 200 }, (_, index) => ({ leaseId: `lease${index}`, client: clients[index % clients.length] })),
    ({ client, leaseId }) => {
      assert.isDefined(client)
      return client.acquire(requestOf(keyId, leaseId, { limits: race.limits, tokens: race.tokens }))
    },
    { concurrency: "unbounded" }
  )
  assert.strictEqual(verdicts.filter((verdict) => verdict.refusedBy === null).length, 50)
  assert.strictEqual(verdicts.filter((verdict) => verdict.refusedBy === race.name).length, 150)
})
