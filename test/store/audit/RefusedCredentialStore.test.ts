/** Counts of refused credentials, on every layer. */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as RefusedCredentialMemory from "../../../src/store/audit/RefusedCredentialMemory.ts"
import * as RefusedCredentialSql from "../../../src/store/audit/RefusedCredentialSql.ts"
import { RefusedCredentialStore } from "../../../src/store/audit/RefusedCredentialStore.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"

const MINUTE_MS = 60_000
const T0 = Date.UTC(2026, 10, 21)
const at = (minute: number, address: string, credential: string, count: number) => ({
  minuteMs: T0 + minute * MINUTE_MS,
  address,
  credential,
  count,
  lastMs: T0 + minute * MINUTE_MS + count
})

const suite = (it: Vitest.MethodsNonLive<RefusedCredentialStore>): void => {
  it.effect("adds up by address and kind, within a span, and deletes the oldest", () =>
    Effect.gen(function* () {
      const store = yield* RefusedCredentialStore
      yield* store.add([at(0, "a", "api_key", 2), at(1, "a", "admin_key", 1), at(1, "b", "session", 5)])
      yield* store.add([at(0, "a", "api_key", 3), at(2, "c", "code", 1)])
      const all = { fromMs: 0, toMs: T0 + 9 * MINUTE_MS, limit: 10 }
      assert.deepStrictEqual(yield* store.list(all), [
        {
          address: "c",
          count: 1,
          firstMs: T0 + 2 * MINUTE_MS,
          lastMs: T0 + 2 * MINUTE_MS + 1,
          byCredential: { code: 1 }
        },
        { address: "b", count: 5, firstMs: T0 + MINUTE_MS, lastMs: T0 + MINUTE_MS + 5, byCredential: { session: 5 } },
        { address: "a", count: 6, firstMs: T0, lastMs: T0 + MINUTE_MS + 1, byCredential: { api_key: 5, admin_key: 1 } }
      ])
      const found = (query: object) =>
        Effect.map(store.list({ ...all, ...query }), (rows) => rows.map(({ address, count }) => [address, count]))
      assert.deepStrictEqual(yield* found({ limit: 1 }), [["c", 1]])
      assert.deepStrictEqual(yield* found({ address: "a", fromMs: T0 + MINUTE_MS }), [["a", 1]])
      assert.deepStrictEqual(yield* found({ toMs: T0 + MINUTE_MS }), [["a", 5]])
      yield* store.deleteOld(T0 + MINUTE_MS, 100)
      assert.deepStrictEqual(yield* found({ address: "a" }), [["a", 1]])
      yield* store.deleteOld(0, 1)
      assert.deepStrictEqual(yield* found({}), [["c", 1]])
    })
  )
}

const timeout = { timeout: "60 seconds" } as const
layer(RefusedCredentialMemory.layer)("in memory", suite)
layer(RefusedCredentialSql.layer.pipe(Layer.provide(layerPostgres)), timeout)("in Postgres", suite)
layer(RefusedCredentialSql.layer.pipe(Layer.provide(layerPglite)), timeout)("in the embedded database", suite)
