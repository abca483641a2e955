/** The guarantees of every `IdempotencyStore`, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { type Claim, IdempotencyStore } from "../../../src/store/idempotency/IdempotencyStore.ts"

const T0 = Date.UTC(2026, 10, 21)
const DAY = 86_400_000

let count = 0
const claimOf = (overrides: Partial<Claim> = {}): Claim => ({
  id: `id-${++count}`,
  holder: `gen_${count}`,
  fingerprint: `print-${count}`,
  nowMs: T0,
  leaseUntilMs: T0 + 150_000,
  expiresAtMs: T0 + DAY,
  ...overrides
})

const reply = Uint8Array.from({ length: 700 }, (_, at) => at % 256)

export const idempotencySuite = (it: Vitest.MethodsNonLive<IdempotencyStore>): void => {
  describe("IdempotencyStore", () => {
    const tagOf = (claim: Claim) =>
      Effect.flatMap(IdempotencyStore, (store) => Effect.map(store.claim(claim), ({ _tag }) => _tag))

    it.effect("gives the key to one of many concurrent claims, and tells the others that it runs", () =>
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const first = claimOf()
        const results = yield* Effect.forEach(
          Array.from({ length: 32 }, (_, at) => ({ ...first, holder: `gen_of_${at}` })),
          store.claim,
          { concurrency: "unbounded" }
        )
        assert.lengthOf(
          results.filter(({ _tag }) => _tag === "Claimed"),
          1
        )
        for (const result of results) {
          if (result._tag !== "Claimed")
            assert.deepStrictEqual(result, { _tag: "Running", fingerprint: first.fingerprint })
        }
      })
    )

    it.effect("stores the reply of the holder alone, byte for byte, until it expires", () =>
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const claim = claimOf()
        yield* store.claim(claim)
        yield* store.complete({ ...claim, holder: "gen_other" }, reply, T0 + DAY)
        assert.strictEqual(yield* tagOf({ ...claim, holder: "gen_other" }), "Running")
        yield* store.complete(claim, reply, T0 + 5_000)
        yield* store.complete(claim, new Uint8Array(1), T0 + 9_000)
        yield* store.release(claim)
        const again = yield* store.claim({ ...claim, holder: "gen_other", nowMs: T0 + 4_999 })
        assert.strictEqual(again._tag, "Completed")
        if (again._tag === "Completed") {
          assert.deepStrictEqual(Uint8Array.from(again.reply), reply)
          assert.strictEqual(again.fingerprint, claim.fingerprint)
        }
        assert.strictEqual(yield* tagOf({ ...claim, holder: "gen_late", nowMs: T0 + 5_000 }), "Claimed")
        assert.strictEqual(yield* tagOf({ ...claim, nowMs: T0 + 5_000 }), "Running")
      })
    )

    it.effect("gives a released key to the next claim; only its holder can release it", () =>
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const claim = claimOf()
        yield* store.release(claim)
        yield* store.claim(claim)
        yield* store.release({ ...claim, holder: "gen_other" })
        assert.strictEqual(yield* tagOf(claim), "Running")
        yield* store.release(claim)
        assert.strictEqual(yield* tagOf({ ...claim, holder: "gen_next" }), "Claimed")
      })
    )

    it.effect("takes the key from a holder whose lease expires, and leaves it to one that renews", () =>
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const [lost, live] = [claimOf(), claimOf()]
        yield* store.claim(lost)
        yield* store.claim(live)
        yield* store.renew([live, { ...lost, holder: "gen_other" }], T0 + 300_000)
        yield* store.renew([], T0)
        const nowMs = lost.leaseUntilMs
        assert.strictEqual(yield* tagOf({ ...lost, holder: "gen_early", nowMs: nowMs - 1 }), "Running")
        assert.strictEqual(yield* tagOf({ ...live, holder: "gen_next", nowMs }), "Running")
        const taken = { ...lost, holder: "gen_next", fingerprint: "another", nowMs, leaseUntilMs: nowMs + 1_000 }
        assert.strictEqual(yield* tagOf(taken), "Claimed")
        // The first holder is too late.
        yield* store.complete(lost, reply, T0 + DAY)
        yield* store.release(lost)
        assert.deepStrictEqual(yield* store.claim({ ...lost, nowMs }), { _tag: "Running", fingerprint: "another" })
      })
    )

    it.effect("writes claims, completions and releases that come at once, each as if it were alone", () =>
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const [fresh, held, ended] = [claimOf(), claimOf(), claimOf()]
        const [lost, expired, taken, leased] = [claimOf(), claimOf(), claimOf(), claimOf()]
        yield* Effect.forEach([held, ended, lost, expired, taken, leased], store.claim, { concurrency: "unbounded" })
        yield* store.complete(ended, reply, T0 + DAY)
        yield* store.complete(expired, reply, T0 + 10)
        const results = yield* Effect.all(
          [
            store.claim(fresh),
            store.complete(held, reply, T0 + DAY),
            store.claim({ ...ended, holder: "gen_2" }),
            store.release(lost),
            store.claim({ ...expired, holder: "gen_2", nowMs: T0 + 10 }),
            store.release({ ...taken, holder: "gen_2" }),
            store.claim({ ...leased, holder: "gen_2", nowMs: leased.leaseUntilMs - 1 })
          ],
          { concurrency: "unbounded" }
        )
        const tags = results.map((result) => (result === undefined ? null : result._tag))
        assert.deepStrictEqual(tags, ["Claimed", null, "Completed", null, "Claimed", null, "Running"])
        const after = yield* Effect.forEach([fresh, held, ended, lost, expired, taken, leased], (one) =>
          tagOf({ ...one, holder: "gen_3" })
        )
        assert.deepStrictEqual(after, ["Running", "Completed", "Completed", "Claimed", "Running", "Running", "Running"])
      })
    )

    it.effect("stores and replays many long replies at once", () =>
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const long = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251)
        const claims = Array.from({ length: 20 }, () => claimOf())
        yield* Effect.forEach(claims, store.claim, { concurrency: "unbounded" })
        yield* Effect.forEach(claims, (one) => store.complete(one, long, T0 + DAY), { concurrency: "unbounded" })
        const found = yield* Effect.forEach(claims, (one) => store.claim({ ...one, holder: "gen_late" }), {
          concurrency: "unbounded"
        })
        for (const [at, result] of found.entries()) {
          assert.strictEqual(result._tag, "Completed")
          if (result._tag !== "Completed") continue
          assert.strictEqual(result.fingerprint, claims[at]?.fingerprint)
          assert.isTrue(Buffer.from(long).equals(result.reply))
        }
      })
    )

    it.effect("deletes expired keys, up to a limit per call", () =>
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const old = Array.from({ length: 5 }, (_, at) => claimOf({ expiresAtMs: 1_000 + at }))
        yield* Effect.forEach(old, store.claim)
        assert.strictEqual(yield* store.deleteExpired(1_003, 3), 3)
        assert.strictEqual(yield* store.deleteExpired(1_003, 3), 1)
        assert.strictEqual(yield* store.deleteExpired(1_003, 3), 0)
        assert.strictEqual(yield* tagOf({ ...(old[4] ?? claimOf()), nowMs: 1_003 }), "Running")
      })
    )
  })
}
