/**
 * Random histories of calls of Limits: one key, two sets of limits, mostly at moments close
 * together.
 */
import { Schema } from "effect"
import { type RateLimits } from "../../../src/domain/Key.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** With fractional refill per millisecond. */
export const tiers: readonly [RateLimits, RateLimits] = [
  { requestsPerMinute: 7, tokensPerMinute: 1_100, concurrency: 2 },
  { requestsPerMinute: 23, tokensPerMinute: 4_000_037, concurrency: 3 }
]

/** The clock advances, at times by a third of a minute, and is rarely set back. */
const afterMs = Schema.Union([between(0, 50), between(0, 50), between(0, 20_000), between(-90_000, 0)])
const tier = Schema.Literals([0, 0, 0, 1])
const leaseId = Schema.Literals(["a", "b", "c", "d"])
const tokens = between(0, 600)

const Acquire = Schema.Struct({
  call: Schema.Literal("acquire"),
  afterMs,
  tier,
  leaseId,
  tokens,
  leaseMs: between(0, 30_000)
})
const Call = Schema.Union([
  Acquire,
  Acquire,
  Schema.Struct({ call: Schema.Literal("take"), afterMs, tier, tokens }),
  Schema.Struct({ call: Schema.Literal("correct"), afterMs, tier, delta: between(-400, 1_600) }),
  Schema.Struct({ call: Schema.Literal("release"), afterMs, leaseId }),
  Schema.Struct({ call: Schema.Literal("renew"), afterMs, leaseId })
])

export const History = Schema.Array(Call)
