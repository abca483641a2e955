/** The guarantees of every `AuditStore`, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { type AuditEvent } from "../../../src/domain/Audit.ts"
import { idBound } from "../../../src/domain/Ids.ts"
import { type AuditQuery, AuditStore } from "../../../src/store/audit/AuditStore.ts"

const T0 = Date.UTC(2026, 10, 21)
const MINUTE_MS = 60_000

/** The event of minute `at`. */
const event = (at: number, overrides: Partial<AuditEvent> = {}): AuditEvent => ({
  id: `${idBound("aud", T0 + at * MINUTE_MS)}${String(at).padStart(20, "0")}`,
  createdAtMs: T0 + at * MINUTE_MS,
  action: "key.change",
  outcome: "done",
  actor: "admin",
  actorId: "usr_a",
  address: "203.0.113.7",
  requestId: `req_${at}`,
  target: "key_a",
  details: { members: ["name", "tier"] },
  count: 1,
  ...overrides
})

const all = [
  event(0),
  event(1, { action: "key.revoke", outcome: "refused", details: { cause: "NotFound" }, target: null, count: 7 }),
  event(2, { actor: "nobody", actorId: null, action: "session.begin", target: "ses_b", details: { user: "usr_b" } }),
  event(3, { actor: "admin_key", actorId: null, address: "2001:db8::1", action: "user.change", target: "usr_b" }),
  event(4, { actor: "gateway", actorId: null, address: null, requestId: null, action: "key.create", target: "key_b" })
]

export const auditSuite = (it: Vitest.MethodsNonLive<AuditStore>): void => {
  describe("AuditStore", () => {
    it.effect("lists events newest first, by page and by each filter, and deletes the oldest", () =>
      Effect.gen(function* () {
        const store = yield* AuditStore
        yield* store.add(all.slice(0, 3))
        yield* store.add(all.slice(3))
        yield* store.add(all.slice(0, 1))
        const listed = (query: Partial<AuditQuery>) =>
          Effect.map(store.list({ limit: 10, cursor: null, ...query }), (found) =>
            found.map(({ id }) => all.findIndex((one) => one.id === id))
          )
        assert.deepStrictEqual(yield* store.list({ limit: 10, cursor: null }), all.toReversed())
        assert.deepStrictEqual(yield* listed({ limit: 2 }), [4, 3])
        assert.deepStrictEqual(yield* listed({ limit: 2, cursor: all[3]?.id ?? "" }), [2, 1])
        assert.deepStrictEqual(yield* listed({ action: "key.revoke" }), [1])
        assert.deepStrictEqual(yield* listed({ outcome: "refused" }), [1])
        assert.deepStrictEqual(yield* listed({ actor: "admin" }), [1, 0])
        assert.deepStrictEqual(yield* listed({ actorId: "usr_a", target: "key_a" }), [0])
        assert.deepStrictEqual(yield* listed({ target: "usr_b" }), [3, 2])
        assert.deepStrictEqual(yield* listed({ target: "usr_b", limit: 1, cursor: all[3]?.id ?? "" }), [2])
        assert.deepStrictEqual(yield* listed({ address: "2001:db8::1" }), [3])
        assert.deepStrictEqual(yield* listed({ requestId: "req_2" }), [2])
        assert.deepStrictEqual(yield* listed({ id: all[1]?.id ?? "" }), [1])
        assert.deepStrictEqual(yield* listed({ fromMs: T0 + MINUTE_MS, toMs: T0 + 3 * MINUTE_MS }), [2, 1])
        assert.deepStrictEqual(yield* listed({ about: ["usr_b", "req_0", "none"] }), [3, 2, 0])
        assert.deepStrictEqual(yield* listed({ about: ["usr_a"], target: "key_a" }), [0])
        assert.deepStrictEqual(yield* listed({ about: ["203.0.113.7"], actor: "nobody" }), [2])
        assert.deepStrictEqual(yield* listed({ about: [] }), [])

        const bounds = { beforeMs: T0 + 2 * MINUTE_MS, most: 100 }
        assert.strictEqual(yield* store.deleteOld({ ...bounds, limit: 1 }), 1)
        assert.deepStrictEqual(yield* listed({}), [4, 3, 2, 1])
        assert.strictEqual(yield* store.deleteOld({ ...bounds, limit: 10 }), 1)
        assert.strictEqual(yield* store.deleteOld({ ...bounds, limit: 10 }), 0)
        assert.strictEqual(yield* store.deleteOld({ beforeMs: T0, most: 2, limit: 10 }), 1)
        assert.deepStrictEqual(yield* listed({}), [4, 3])
      })
    )
  })
}
