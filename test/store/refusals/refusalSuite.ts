/** The guarantees of every `RefusalStore`, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { idBound } from "../../../src/domain/Ids.ts"
import { type Refusal } from "../../../src/domain/Refusal.ts"
import { type RefusalQuery, RefusalStore, type RefusalSums } from "../../../src/store/refusals/RefusalStore.ts"

const T0 = Date.UTC(2026, 10, 21)
const MINUTE_MS = 60_000

/** The refusal of minute `at`. */
const refusal = (at: number, overrides: Partial<Refusal> = {}): Refusal => ({
  id: `${idBound("ref", T0 + at * MINUTE_MS)}${String(at).padStart(20, "0")}`,
  requestId: `req_${at}`,
  createdAtMs: T0 + at * MINUTE_MS,
  endpoint: "POST /v1/chat/completions",
  status: 429,
  type: "rate_limit_exceeded",
  code: "requests_limit_exceeded",
  message: "The limit is reached.",
  keyId: "key_a",
  ownerId: "usr_a",
  model: "test/small",
  count: 1,
  ...overrides
})

const all = [
  refusal(0),
  refusal(1, { keyId: "key_b", ownerId: null, count: 7 }),
  refusal(2, { status: 402, type: "budget_exceeded", code: null }),
  refusal(3, { keyId: null, ownerId: null, model: null, endpoint: null, status: 404, type: "not_found" }),
  refusal(4, { keyId: "key_c", ownerId: "usr_c", model: "test/large", requestId: "a.client-s_own" })
]

export const refusalSuite = (it: Vitest.MethodsNonLive<RefusalStore>): void => {
  describe("RefusalStore", () => {
    it.effect("lists refusals newest first, by page and by each filter, and counts what a row stands for", () =>
      Effect.gen(function* () {
        const store = yield* RefusalStore
        yield* store.add(all.slice(0, 3))
        yield* store.add(all.slice(3))
        yield* store.add(all.slice(0, 1))
        const listed = (query: Partial<RefusalQuery>) =>
          Effect.map(store.list({ limit: 10, cursor: null, ...query }), (found) =>
            found.map(({ id }) => all.findIndex((one) => one.id === id))
          )
        assert.deepStrictEqual(yield* store.list({ limit: 10, cursor: null }), all.toReversed())
        assert.deepStrictEqual(yield* listed({ limit: 2 }), [4, 3])
        assert.deepStrictEqual(yield* listed({ limit: 2, cursor: all[3]?.id ?? "" }), [2, 1])
        assert.deepStrictEqual(yield* listed({ keyId: "key_a" }), [2, 0])
        assert.deepStrictEqual(yield* listed({ keyId: null, ownerId: "usr_c" }), [4])
        assert.deepStrictEqual(yield* listed({ fromMs: T0 + MINUTE_MS, toMs: T0 + 3 * MINUTE_MS }), [2, 1])
        assert.deepStrictEqual(yield* listed({ model: "test/large" }), [4])
        assert.deepStrictEqual(yield* listed({ status: 402 }), [2])
        assert.deepStrictEqual(yield* listed({ type: "rate_limit_exceeded", ownerId: "usr_a" }), [0])
        assert.deepStrictEqual(yield* listed({ requestId: "a.client-s_own" }), [4])
        assert.deepStrictEqual(yield* listed({ requestId: "none" }), [])
        const among = { models: ["test/large", "none"], keyIds: ["key_b"], ownerIds: ["usr_c"], requestIds: ["req_3"] }
        assert.deepStrictEqual(yield* listed({ among }), [4, 3, 1])
        assert.deepStrictEqual(yield* listed({ among, status: 404 }), [3])
        assert.deepStrictEqual(yield* listed({ id: all[2]?.id ?? "" }), [2])
        assert.deepStrictEqual(yield* listed({ among, limit: 1, cursor: all[3]?.id ?? "" }), [1])
        assert.deepStrictEqual(yield* listed({ among: { models: [], keyIds: [], ownerIds: [], requestIds: [] } }), [])

        assert.deepStrictEqual(yield* store.series({ fromMs: T0, toMs: T0 + 4 * MINUTE_MS, bucketMs: 2 * MINUTE_MS }), [
          { startMs: T0, type: "rate_limit_exceeded", count: 8 },
          { startMs: T0 + 2 * MINUTE_MS, type: "budget_exceeded", count: 1 },
          { startMs: T0 + 2 * MINUTE_MS, type: "not_found", count: 1 }
        ])

        const span = { fromMs: T0, toMs: T0 + 4 * MINUTE_MS, limit: 10 }
        const sums = (query: Partial<RefusalSums>) =>
          Effect.map(store.sums({ ...span, groupBy: null, ...query }), (rows) =>
            rows.map(({ count, group }) => [group, count])
          )
        assert.deepStrictEqual(yield* sums({}), [[null, 10]])
        assert.deepStrictEqual(yield* sums({ groupBy: "day" }), [["2026-11-21", 10]])
        assert.deepStrictEqual(yield* sums({ groupBy: "model" }), [
          ["test/small", 9],
          [null, 1]
        ])
        assert.deepStrictEqual(yield* sums({ groupBy: "key" }), [
          ["key_b", 7],
          ["key_a", 2],
          [null, 1]
        ])
        assert.deepStrictEqual(yield* sums({ groupBy: "key", limit: 1 }), [["key_b", 7]])
        assert.deepStrictEqual(yield* sums({ groupBy: "owner", keyId: "key_a" }), [["usr_a", 2]])
        assert.deepStrictEqual(yield* sums({ groupBy: "key", ownerId: "usr_a" }), [["key_a", 2]])
        assert.deepStrictEqual(yield* sums({ groupBy: "key", model: "test/large", toMs: T0 + 5 * MINUTE_MS }), [
          ["key_c", 1]
        ])
        assert.deepStrictEqual(yield* sums({ model: "test/large" }), [])

        assert.strictEqual(yield* store.deleteBefore(T0 + 3 * MINUTE_MS, 2), 2)
        assert.strictEqual(yield* store.deleteBefore(T0 + 3 * MINUTE_MS, 2), 1)
        assert.deepStrictEqual(yield* listed({}), [4, 3])
      })
    )
  })
}
