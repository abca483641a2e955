/**
 * The guarantees of every layer of Limits at given moments: exact arithmetic, all or none, leases
 * that expire.
 */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { randomUUID } from "node:crypto"
import { type RateLimits } from "../../../src/domain/Key.ts"
import { type Lease, type LimitRequest, Limits, type LimitVerdict } from "../../../src/store/limits/Limits.ts"

export const newOwnerId = () => `usr_${randomUUID().replaceAll("-", "")}`
export const newKeyId = () => `key_${randomUUID().replaceAll("-", "")}`

export const roomy: RateLimits = { requestsPerMinute: 6_000, tokensPerMinute: 6_000_000, concurrency: 1_000 }

/** A request for 1 token at the moment 0 under large limits, except for `options`. */
export const requestOf = (keyId: string, leaseId: string, options: Partial<LimitRequest> = {}): LimitRequest => ({
  keyId,
  leaseId,
  limits: roomy,
  tokens: 1,
  nowMs: 0,
  leaseMs: 60_000,
  ...options
})

export const leaseOf = (keyId: string, leaseId: string, ownerId: string | null = null): Lease => ({
  keyId,
  leaseId,
  ownerId
})

const refusalsOf = (verdicts: ReadonlyArray<LimitVerdict>) => verdicts.map((verdict) => verdict.refusedBy)

export const limitsSuite = <E>(layer: Layer.Layer<Limits, E>) => {
  it.layer(layer)((it) => {
    it.effect("grants a minute's worth of requests at once, then one per share of the minute", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string, nowMs: number) =>
          limits.acquire(requestOf(keyId, id, { nowMs, limits: { ...roomy, requestsPerMinute: 20 } }))
        const first = yield* acquire("a", 0)
        assert.deepStrictEqual(first, {
          refusedBy: null,
          holder: null,
          retryAfterMs: 0,
          requests: { limit: 20, remaining: 19, resetMs: 3_000 },
          tokens: { limit: 6_000_000, remaining: 5_999_999, resetMs: 1 }
        })
        yield* Effect.forEach(Array.from({ length: 18 }), (_, index) => acquire(`b${index}`, 0))
        const last = yield* acquire("c", 0)
        assert.deepStrictEqual(last.requests, { limit: 20, remaining: 0, resetMs: 60_000 })
        const refused = yield* acquire("d", 0)
        assert.deepStrictEqual([refused.refusedBy, refused.retryAfterMs], ["requests", 3_000])
        assert.deepStrictEqual(refused.requests, { limit: 20, remaining: 0, resetMs: 60_000 })
        const early = yield* acquire("e", 2_999)
        assert.deepStrictEqual([early.refusedBy, early.retryAfterMs], ["requests", 1])
        assert.strictEqual((yield* acquire("f", 3_000)).refusedBy, null)
        assert.strictEqual((yield* acquire("g", 3_000)).refusedBy, "requests")
      })
    )

    it.effect("grants exactly at retryAfterMs, and not earlier, when a minute does not divide evenly", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string, nowMs: number) =>
          limits.acquire(requestOf(keyId, id, { nowMs, limits: { ...roomy, requestsPerMinute: 7 } }))
        const granted = yield* Effect.forEach(Array.from({ length: 7 }), (_, index) => acquire(`a${index}`, 1_000))
        assert.deepStrictEqual(
          refusalsOf(granted),
          Array.from({ length: 7 }, () => null)
        )
        const refused = yield* acquire("b", 1_000)
        assert.deepStrictEqual([refused.refusedBy, refused.retryAfterMs], ["requests", 8_572])
        assert.strictEqual((yield* acquire("c", 9_571)).refusedBy, "requests")
        assert.strictEqual((yield* acquire("d", 9_572)).refusedBy, null)
      })
    )

    it.effect("takes neither a request nor a lease when tokens are refused", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const tight = { requestsPerMinute: 20, tokensPerMinute: 600, concurrency: 2 }
        const acquire = (id: string, tokens: number) => limits.acquire(requestOf(keyId, id, { tokens, limits: tight }))
        assert.strictEqual((yield* acquire("a", 500)).refusedBy, null)
        const refused = yield* acquire("b", 200)
        assert.deepStrictEqual(refused, {
          refusedBy: "tokens",
          holder: "key",
          retryAfterMs: 10_000,
          requests: { limit: 20, remaining: 19, resetMs: 3_000 },
          tokens: { limit: 600, remaining: 100, resetMs: 50_000 }
        })
        const next = yield* acquire("c", 100)
        assert.deepStrictEqual([next.refusedBy, next.requests.remaining, next.tokens.remaining], [null, 18, 0])
      })
    )

    it.effect("takes neither a request nor tokens when concurrency is refused, nor tokens when requests are", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const tight = { requestsPerMinute: 2, tokensPerMinute: 600, concurrency: 1 }
        const acquire = (id: string, tokens: number) => limits.acquire(requestOf(keyId, id, { tokens, limits: tight }))
        yield* acquire("a", 60)
        const busy = yield* acquire("b", 60)
        assert.deepStrictEqual([busy.refusedBy, busy.retryAfterMs], ["concurrency", 1_000])
        assert.deepStrictEqual([busy.requests.remaining, busy.tokens.remaining], [1, 540])
        yield* limits.release(leaseOf(keyId, "a"))
        assert.strictEqual((yield* acquire("b", 60)).refusedBy, null)
        const refused = yield* acquire("c", 60)
        assert.deepStrictEqual([refused.refusedBy, refused.tokens.remaining], ["requests", 480])
      })
    )

    it.effect("lets a request larger than the bucket take all of it, once it is full", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string, tokens: number, nowMs: number) =>
          limits.acquire(requestOf(keyId, id, { tokens, nowMs, limits: { ...roomy, tokensPerMinute: 600 } }))
        const whole = yield* acquire("a", 1_000_000, 0)
        assert.deepStrictEqual(whole.tokens, { limit: 600, remaining: 0, resetMs: 60_000 })
        const refused = yield* acquire("b", 1_000_000, 30_000)
        assert.deepStrictEqual([refused.refusedBy, refused.retryAfterMs], ["tokens", 30_000])
        assert.strictEqual((yield* acquire("c", 1_000_000, 60_000)).refusedBy, null)
      })
    )

    it.effect("corrects tokens to a debt of one minute's worth at most, and never above full", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const tight = { ...roomy, tokensPerMinute: 600 }
        const acquire = (id: string, tokens: number, nowMs: number) =>
          limits.acquire(requestOf(keyId, id, { tokens, nowMs, limits: tight }))
        const correct = (delta: number, nowMs: number) => limits.correct({ keyId, limits: tight, delta, nowMs })
        yield* acquire("a", 100, 0)
        assert.deepStrictEqual(yield* correct(200, 0), { limit: 600, remaining: 300, resetMs: 30_000 })
        // Ten minutes' worth of output: the bucket has tokens again after one minute.
        assert.deepStrictEqual(yield* correct(6_000, 0), { limit: 600, remaining: 0, resetMs: 120_000 })
        const refused = yield* acquire("b", 10, 0)
        assert.deepStrictEqual([refused.refusedBy, refused.retryAfterMs], ["tokens", 61_000])
        assert.deepStrictEqual(refused.tokens, { limit: 600, remaining: 0, resetMs: 120_000 })
        assert.strictEqual((yield* acquire("c", 10, 60_999)).refusedBy, "tokens")
        assert.strictEqual((yield* acquire("d", 10, 61_000)).refusedBy, null)
        yield* correct(-1_000_000, 61_000)
        assert.strictEqual((yield* acquire("e", 600, 61_000)).refusedBy, null)
        assert.strictEqual((yield* acquire("f", 1, 61_000)).refusedBy, "tokens")
      })
    )

    it.effect("records a correction for an unknown key, unless it gives tokens back", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const [taken, given] = [newKeyId(), newKeyId()]
        const tight = { ...roomy, tokensPerMinute: 600 }
        yield* limits.correct({ keyId: taken, limits: tight, delta: 500, nowMs: 0 })
        yield* limits.correct({ keyId: given, limits: tight, delta: -500, nowMs: 0 })
        const acquire = (keyId: string) => limits.acquire(requestOf(keyId, "a", { tokens: 100, limits: tight }))
        assert.strictEqual((yield* acquire(taken)).tokens.remaining, 0)
        assert.strictEqual((yield* acquire(given)).tokens.remaining, 500)
      })
    )

    it.effect("keeps a lease until it is released; a second release affects no other lease", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string) => limits.acquire(requestOf(keyId, id, { limits: { ...roomy, concurrency: 2 } }))
        assert.deepStrictEqual(refusalsOf(yield* Effect.forEach(["a", "b", "c"], acquire)), [null, null, "concurrency"])
        assert.strictEqual((yield* acquire("b")).refusedBy, null, "a lease that is held already needs no second slot")
        yield* limits.release(leaseOf(keyId, "a"))
        yield* limits.release(leaseOf(keyId, "a"))
        yield* limits.release(leaseOf(keyId, "unknown"))
        yield* limits.release(leaseOf(newKeyId(), "b"))
        assert.deepStrictEqual(refusalsOf(yield* Effect.forEach(["d", "e"], acquire)), [null, "concurrency"])
      })
    )

    it.effect("frees the leases of a dead process, each when it expires", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string, nowMs: number, leaseMs: number) =>
          limits.acquire(requestOf(keyId, id, { nowMs, leaseMs, limits: { ...roomy, concurrency: 2 } }))
        yield* acquire("long", 0, 60_000)
        yield* acquire("short", 0, 30_000)
        assert.strictEqual((yield* acquire("a", 29_999, 30_000)).refusedBy, "concurrency")
        assert.strictEqual((yield* acquire("b", 30_000, 60_000)).refusedBy, null)
        assert.strictEqual((yield* acquire("c", 30_000, 60_000)).refusedBy, "concurrency")
        assert.strictEqual((yield* acquire("d", 60_000, 60_000)).refusedBy, null)
        assert.strictEqual((yield* acquire("e", 60_000, 60_000)).refusedBy, "concurrency")
      })
    )

    it.effect("renews leases, and restores one that has expired in the meantime", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const owner = { id: newOwnerId(), limits: roomy }
        const one = { ...roomy, concurrency: 1 }
        const acquire = (id: string, nowMs: number) =>
          limits.acquire(requestOf(keyId, id, { nowMs, owner, leaseMs: 15_000, limits: one }))
        yield* acquire("a", 0)
        for (const nowMs of [10_000, 20_000, 30_000])
          yield* limits.renew([leaseOf(keyId, "a", owner.id)], 15_000, nowMs)
        assert.strictEqual((yield* acquire("b", 44_999)).refusedBy, "concurrency")
        assert.strictEqual((yield* acquire("b", 45_000)).refusedBy, null)
        yield* limits.renew([leaseOf(keyId, "a", owner.id), leaseOf(keyId, "b", owner.id)], 15_000, 50_000)
        yield* limits.release(leaseOf(keyId, "b", owner.id))
        assert.strictEqual((yield* acquire("c", 64_999)).refusedBy, "concurrency")
        assert.strictEqual((yield* acquire("c", 65_000)).refusedBy, null)
      })
    )

    it.effect("renews the lease of a key and owner without any other state", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const [keyId, one] = [newKeyId(), { ...roomy, concurrency: 1 }]
        const owner = { id: newOwnerId(), limits: one }
        yield* limits.renew([leaseOf(keyId, "a", owner.id)], 15_000, 0)
        const acquire = (key: string, nowMs: number) =>
          limits.acquire(requestOf(key, "b", { nowMs, owner, limits: one }))
        const verdicts = [yield* acquire(keyId, 1), yield* acquire(newKeyId(), 1), yield* acquire(keyId, 15_000)]
        assert.deepStrictEqual(
          verdicts.map(({ holder, refusedBy }) => [refusedBy, holder]),
          [
            ["concurrency", "key"],
            ["concurrency", "owner"],
            [null, null]
          ]
        )
      })
    )

    it.effect("takes tokens for a request that has its lease, and neither a request nor a lease", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const tight = { requestsPerMinute: 1, tokensPerMinute: 600, concurrency: 1 }
        const take = (tokens: number) => limits.take({ keyId, limits: tight, tokens, nowMs: 0 })
        yield* limits.acquire(requestOf(keyId, "a", { tokens: 0, limits: tight }))
        assert.deepStrictEqual(yield* take(500), {
          refusedBy: null,
          holder: null,
          retryAfterMs: 0,
          requests: { limit: 1, remaining: 0, resetMs: 60_000 },
          tokens: { limit: 600, remaining: 100, resetMs: 50_000 }
        })
        const refused = yield* take(200)
        assert.deepStrictEqual([refused.refusedBy, refused.retryAfterMs], ["tokens", 10_000])
        assert.strictEqual(refused.tokens.remaining, 100)
      })
    )

    it.effect.each([
      { name: "requests", limits: { ...roomy, requestsPerMinute: 3 }, retryAfterMs: 20_000 },
      { name: "tokens", limits: { ...roomy, tokensPerMinute: 30 }, retryAfterMs: 20_000 },
      { name: "concurrency", limits: { ...roomy, concurrency: 3 }, retryAfterMs: 1_000 }
    ])("counts $name for all keys of an owner together, including new ones", (given) =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const owner = { id: newOwnerId(), limits: given.limits }
        const acquire = (id: string) => limits.acquire(requestOf(newKeyId(), id, { owner, tokens: 10 }))
        assert.deepStrictEqual(refusalsOf(yield* Effect.forEach(["a", "b", "c"], acquire)), [null, null, null])
        const refused = yield* acquire("d")
        assert.deepStrictEqual(
          [refused.refusedBy, refused.holder, refused.retryAfterMs],
          [given.name, "owner", given.retryAfterMs]
        )
        assert.strictEqual(
          (yield* limits.acquire(requestOf(newKeyId(), "e"))).refusedBy,
          null,
          "a key without an owner"
        )
      })
    )

    it.effect("returns the tighter bucket of key and owner, and takes from both or from neither", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const [first, second] = [newKeyId(), newKeyId()]
        const tier = { requestsPerMinute: 10, tokensPerMinute: 600, concurrency: 5 }
        const owner = { id: newOwnerId(), limits: tier }
        const acquire = (keyId: string, id: string, tokens: number) =>
          limits.acquire(requestOf(keyId, id, { owner, tokens, limits: tier }))
        const own = yield* acquire(first, "a", 400)
        assert.deepStrictEqual([own.requests.remaining, own.tokens.remaining], [9, 200])
        const shared = yield* acquire(second, "b", 100)
        assert.deepStrictEqual([shared.requests.remaining, shared.tokens.remaining], [8, 100])
        const refused = yield* acquire(second, "c", 200)
        assert.deepStrictEqual([refused.refusedBy, refused.holder], ["tokens", "owner"])
        const { remaining } = yield* limits.correct({ keyId: second, limits: tier, owner, delta: -100, nowMs: 0 })
        assert.strictEqual(remaining, 200)
        assert.strictEqual(
          (yield* acquire(second, "d", 200)).refusedBy,
          null,
          "the second key's own bucket was not used"
        )
      })
    )

    it.effect("keeps the used fraction of a bucket when limits change, up and down", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string, rate: RateLimits, tokens: number, nowMs: number) =>
          limits.acquire(requestOf(keyId, id, { tokens, nowMs, limits: rate }))
        const free = { requestsPerMinute: 20, tokensPerMinute: 600, concurrency: 1 }
        const pro = { requestsPerMinute: 200, tokensPerMinute: 6_000, concurrency: 3 }
        yield* acquire("a", free, 600, 0)
        assert.strictEqual((yield* acquire("b", free, 1, 0)).refusedBy, "tokens")
        const upgraded = yield* acquire("c", pro, 100, 1_000)
        assert.strictEqual(upgraded.refusedBy, null)
        assert.deepStrictEqual(upgraded.tokens, { limit: 6_000, remaining: 0, resetMs: 60_000 })
        assert.strictEqual(upgraded.requests.limit, 200)
        const downgraded = yield* acquire("d", free, 300, 31_000)
        assert.deepStrictEqual(
          [downgraded.refusedBy, downgraded.tokens.remaining, downgraded.requests],
          ["concurrency", 300, { limit: 20, remaining: 20, resetMs: 0 }]
        )
      })
    )

    it.effect("refuses everything under limits of zero", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const acquire = (rate: Partial<RateLimits>) =>
          limits.acquire(requestOf(newKeyId(), "a", { limits: { ...roomy, ...rate } }))
        const requests = yield* acquire({ requestsPerMinute: 0 })
        assert.deepStrictEqual([requests.refusedBy, requests.retryAfterMs], ["requests", 60_000])
        assert.deepStrictEqual(requests.requests, { limit: 0, remaining: 0, resetMs: 0 })
        const tokens = yield* acquire({ tokensPerMinute: 0 })
        assert.deepStrictEqual([tokens.refusedBy, tokens.retryAfterMs], ["tokens", 60_000])
        assert.strictEqual((yield* acquire({ concurrency: 0 })).refusedBy, "concurrency")
      })
    )

    it.effect("refills nothing for a moment in the past, and keeps granting when the clock was set back", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const keyId = newKeyId()
        const acquire = (id: string, nowMs: number) =>
          limits.acquire(requestOf(keyId, id, { nowMs, limits: { ...roomy, requestsPerMinute: 1 } }))
        assert.strictEqual((yield* acquire("a", 7_200_000)).refusedBy, null)
        assert.strictEqual((yield* acquire("b", 7_199_000)).refusedBy, "requests")
        assert.strictEqual((yield* acquire("c", 0)).refusedBy, null)
        assert.strictEqual((yield* acquire("d", 59_999)).refusedBy, "requests")
        assert.strictEqual((yield* acquire("e", 60_000)).refusedBy, null)
      })
    )

    it.effect("separates keys", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        const one = { requestsPerMinute: 1, tokensPerMinute: 1, concurrency: 1 }
        const verdicts = yield* Effect.forEach([newKeyId(), newKeyId()], (keyId) =>
          limits.acquire(requestOf(keyId, "same", { limits: one }))
        )
        assert.deepStrictEqual(refusalsOf(verdicts), [null, null])
      })
    )

    it.effect("answers a ping", () =>
      Effect.gen(function* () {
        const limits = yield* Limits
        assert.isUndefined(yield* limits.ping)
      })
    )
  })
}
