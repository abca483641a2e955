/** Generations for the tests of the stores. */
import { type Generation } from "../../../src/domain/Generation.ts"
import { zeroCost } from "../../../src/domain/pricing/Money.ts"

/** A settled generation that cost `billedNano`. */
export const makeGeneration = (
  overrides: Partial<Generation> & { readonly id: string },
  billedNano: number
): Generation => ({
  keyId: "key_shared",
  ownerId: null,
  model: "mock/echo",
  provider: "mock",
  createdAtMs: Date.UTC(2026, 10, 21, 12),
  usage: { promptTokens: 10, completionTokens: 20, cachedTokens: 5 },
  usageSource: "provider",
  cost: { ...zeroCost, completionNano: billedNano, totalNano: billedNano, billedNano },
  latencyMs: 12.5,
  timeToFirstTokenMs: 3.25,
  fallbackUsed: false,
  cacheHit: false,
  streamed: true,
  cancelled: false,
  finishReason: "stop",
  errorType: null,
  attempts: [],
  excluded: [],
  price: { prompt: 150_000, completion: 600_000, cachedPrompt: null },
  reservation: { reservedNano: 100, extendedNano: 0, settledNano: billedNano },
  ...overrides
})
