/** The guarantees of every `ResponseStore`, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ResponseStore, type StoredResponse } from "../../../src/store/responses/ResponseStore.ts"

const T0 = Date.UTC(2026, 10, 22)
const DAY = 86_400_000

const bytes = (size: number) => Uint8Array.from({ length: size }, (_, at) => at % 256)

let count = 0
/** A response of a key of its own. */
const response = (overrides: Partial<StoredResponse> = {}): StoredResponse => ({
  keyId: `key_${++count}`,
  id: `resp_${count}`,
  sealed: bytes(300),
  expiresAtMs: T0 + DAY,
  ...overrides
})

export const responseStoreSuite = (it: Vitest.MethodsNonLive<ResponseStore>): void => {
  describe("ResponseStore", () => {
    /** The ids of these that can be read now. */
    const readable = Effect.fnUntraced(function* (responses: ReadonlyArray<StoredResponse>, nowMs = T0) {
      const store = yield* ResponseStore
      const found = yield* Effect.filter(responses, (one) => Effect.map(store.find(one, nowMs), Option.isSome))
      return found.map(({ id }) => id)
    })

    it.effect("stores a response byte for byte, once, until it expires", () =>
      Effect.gen(function* () {
        const store = yield* ResponseStore
        const first = response({ sealed: bytes(70_000) })
        yield* store.insert(first)
        yield* store.insert({ ...first, sealed: bytes(1), expiresAtMs: T0 + 9 * DAY })
        const found = yield* store.find(first, T0 + DAY - 1)
        assert.deepStrictEqual(Uint8Array.from(Option.getOrThrow(found)), first.sealed)
        assert.isTrue(Option.isNone(yield* store.find(first, T0 + DAY)))
      })
    )

    it.effect("finds and removes a key's own responses only", () =>
      Effect.gen(function* () {
        const store = yield* ResponseStore
        const own = response()
        const other = response({ id: own.id, sealed: bytes(7) })
        yield* store.insert(own)
        assert.isTrue(Option.isNone(yield* store.find(other, T0)))
        assert.isFalse(yield* store.remove(other, T0))
        yield* store.insert(other)
        assert.isTrue(yield* store.remove(other, T0))
        assert.deepStrictEqual(yield* readable([own, other]), [own.id])
        assert.isTrue(yield* store.remove(own, T0))
        assert.isFalse(yield* store.remove(own, T0))
        assert.deepStrictEqual(yield* readable([own]), [])
      })
    )

    it.effect("does not remove an expired response as one that could be read", () =>
      Effect.gen(function* () {
        const store = yield* ResponseStore
        const old = response()
        yield* store.insert(old)
        assert.isFalse(yield* store.remove(old, old.expiresAtMs))
      })
    )

    it.effect("trims a key to its newest responses", () =>
      Effect.gen(function* () {
        const store = yield* ResponseStore
        const { keyId } = response()
        // The ids say nothing about the order.
        const own = ["d", "a", "c", "b"].map((id, at) => response({ keyId, id, expiresAtMs: T0 + DAY - at }))
        const other = response()
        yield* Effect.forEach([...own, other], store.insert)
        yield* store.trim(keyId, 1_200)
        assert.deepStrictEqual(yield* readable(own), ["d", "a", "c", "b"])
        yield* store.trim(keyId, 1_199)
        assert.deepStrictEqual(yield* readable(own), ["a", "c", "b"])
        yield* store.trim(keyId, 300)
        assert.deepStrictEqual(yield* readable([...own, other]), ["b", other.id])
      })
    )

    it.effect("removes all responses of a key", () =>
      Effect.gen(function* () {
        const store = yield* ResponseStore
        const { keyId } = response()
        const own = [response({ keyId }), response({ keyId })]
        const other = response()
        yield* Effect.forEach([...own, other], store.insert)
        yield* store.removeAll(keyId)
        yield* store.removeAll(keyId)
        assert.deepStrictEqual(yield* readable([...own, other]), [other.id])
      })
    )

    it.effect("deletes expired responses, up to a limit per call", () =>
      Effect.gen(function* () {
        const store = yield* ResponseStore
        const old = Array.from({ length: 5 }, (_, at) => response({ expiresAtMs: 1_000 + at }))
        yield* Effect.forEach(old, store.insert)
        assert.strictEqual(yield* store.deleteExpired(1_003, 3), 3)
        assert.strictEqual(yield* store.deleteExpired(1_003, 3), 1)
        assert.strictEqual(yield* store.deleteExpired(1_003, 3), 0)
        assert.deepStrictEqual(yield* readable(old, 1_003), [old[4]?.id])
      })
    )
  })
}
