/** The key's current cap applies, whatever the process has read before. */
import * as KeyRepoSql from "../../../src/store/keys/KeyRepoSql.ts"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { KeyRepo } from "../../../src/store/keys/KeyRepo.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { keyWith } from "../../gateway/plans.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { Audit } from "./LedgerAudit.ts"
import { makeGeneration } from "./makeGeneration.ts"
import { makeReservation, MONTH, T0 } from "./makeReservation.ts"
import { withoutSingleEntries } from "./withoutSingleEntries.ts"

let count = 0

/** Stores a key with this cap and returns its id. */
const keyCapped = Effect.fnUntraced(function* (monthlyBudgetNano: number | null) {
  const id = `key_${String(++count).padStart(32, "0")}`
  yield* (yield* KeyRepo).insert(keyWith({ id, publicId: `public${count}`, monthlyBudgetNano }))
  return id
})

const capTo = (id: string, monthlyBudgetNano: number | null) =>
  Effect.flatMap(KeyRepo, (repo) => repo.update(id, { monthlyBudgetNano }, T0))

const on = <E>(name: string, stores: Layer.Layer<Ledger | KeyRepo | Audit, E>) =>
  layer(stores, { timeout: "60 seconds" })(name, (it) => {
    it.effect("a lowered cap applies at once, and a raised one makes room, for reservations and extensions", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = yield* keyCapped(1_000)
        const held = makeReservation(keyId)
        const tagOf = <E2>(result: Effect.Effect<{ readonly _tag: string }, E2>) =>
          Effect.map(result, ({ _tag }) => _tag)
        const askBoth = Effect.all([
          tagOf(Effect.suspend(() => ledger.reserve(makeReservation(keyId, { amountNano: 50 })))),
          tagOf(ledger.extend(held.generationId, 50, 1_000))
        ])
        yield* ledger.reserve(held)
        yield* capTo(keyId, 149)
        assert.deepStrictEqual(yield* askBoth, ["Refused", "Refused"])
        yield* capTo(keyId, 200)
        assert.deepStrictEqual(yield* askBoth, ["Reserved", "Reserved"])
        yield* capTo(keyId, null)
        assert.deepStrictEqual(yield* askBoth, ["Reserved", "Reserved"])
        yield* capTo(keyId, 0)
        assert.deepStrictEqual(yield* askBoth, ["Refused", "Refused"])
        assert.deepStrictEqual((yield* ledger.balances([keyId], MONTH)).get(keyId), { spentNano: 0, reservedNano: 300 })
        assert.deepStrictEqual(yield* (yield* Audit).differences, [])
      })
    )

    it.effect("a key that is not in the table has the cap of the request", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const refused = yield* ledger.reserve(makeReservation("key_elsewhere", { capNano: 99 }))
        assert.strictEqual(refused._tag, "Refused")
        const reserved = yield* ledger.reserve(makeReservation("key_elsewhere", { capNano: 100 }))
        assert.strictEqual(reserved._tag, "Reserved")
      })
    )

    it.effect(
      "a generation that replaces an estimate is charged as far as the cap allows, and not below the estimate",
      () =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const corrected = Effect.fnUntraced(function* (capNano: number | null) {
            const keyId = yield* keyCapped(1_000)
            const dead = makeReservation(keyId, { leaseMs: -1 })
            yield* ledger.reserve(dead)
            assert.strictEqual(yield* ledger.settleExpired, 1)
            yield* ledger.reserve(makeReservation(keyId, { amountNano: 30 }))
            yield* capTo(keyId, capNano)
            yield* ledger.settle(makeGeneration({ id: dead.generationId, keyId }, 250), MONTH)
            return (yield* ledger.balances([keyId], MONTH)).get(keyId)
          })
          assert.deepStrictEqual(yield* corrected(200), { spentNano: 170, reservedNano: 30 })
          assert.deepStrictEqual(yield* corrected(120), { spentNano: 100, reservedNano: 30 })
          assert.deepStrictEqual(yield* corrected(280), { spentNano: 250, reservedNano: 30 })
          assert.deepStrictEqual(yield* corrected(null), { spentNano: 250, reservedNano: 30 })
          assert.deepStrictEqual(yield* (yield* Audit).differences, [])
        })
    )
  })

const stores = Layer.mergeAll(LedgerSql.layer, KeyRepoSql.layer, Audit.layer)

on("Caps in the embedded database", stores.pipe(Layer.provide(layerPglite)))
on("Caps in Postgres", stores.pipe(Layer.provide(layerPostgres)))
on("Caps in Postgres, in groups", stores.pipe(Layer.provide(withoutSingleEntries(layerPostgres))))
