/** Sealed keys on every layer, and that only the admin key that sealed one opens it. */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { makeSealedKeys } from "../../../src/gateway/admin/SealedKeys.ts"
import * as SealedKeyMemory from "../../../src/store/secrets/SealedKeyMemory.ts"
import * as SealedKeySql from "../../../src/store/secrets/SealedKeySql.ts"
import { SealedKeyStore } from "../../../src/store/secrets/SealedKeyStore.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"

const timeout = { timeout: "60 seconds" } as const
const opened = (keys: ReadonlyMap<string, Redacted.Redacted>) =>
  [...keys].map(([name, key]) => [name, Redacted.value(key)])

const suite = (it: Vitest.MethodsNonLive<SealedKeyStore>): void => {
  it.effect("keeps keys that only the admin key opens, under their own names", () =>
    Effect.gen(function* () {
      const store = yield* SealedKeyStore
      const keys = yield* makeSealedKeys(Redacted.make("admin"))
      yield* keys.seal("alpha", Redacted.make("sk-first"))
      yield* keys.seal("alpha", Redacted.make("sk-alpha"))
      yield* keys.seal("beta", Redacted.make("sk-beta"))
      const sealed = yield* store.all
      for (const bytes of sealed.values()) assert.notInclude(Buffer.from(bytes).toString("latin1"), "sk-")
      assert.sameDeepMembers(opened(yield* keys.open), [
        ["alpha", "sk-alpha"],
        ["beta", "sk-beta"]
      ])
      const others = yield* makeSealedKeys(Redacted.make("another admin"))
      assert.deepStrictEqual(opened(yield* others.open), [])
      // A row that is given another name does not open.
      yield* store.put("gamma", sealed.get("alpha") ?? new Uint8Array(), 0)
      assert.isFalse((yield* keys.open).has("gamma"))
      assert.deepStrictEqual([yield* keys.remove("alpha"), yield* keys.remove("alpha")], [true, false])
      assert.deepStrictEqual(opened(yield* keys.open), [["beta", "sk-beta"]])
    })
  )
}

layer(SealedKeyMemory.layer)("in memory", suite)
layer(SealedKeySql.layer.pipe(Layer.provide(layerPostgres)), timeout)("in Postgres", suite)
layer(SealedKeySql.layer.pipe(Layer.provide(layerPglite)), timeout)("in the embedded database", suite)
