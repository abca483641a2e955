/** What an owner's keys used: the same answers from memory and from a database. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type Generation } from "../../src/domain/Generation.ts"
import { Ledger } from "../../src/store/Ledger.ts"
import { layerPglite } from "../support/Pglite.ts"
import { layerPostgres } from "../support/Postgres.ts"
import { makeGeneration } from "./makeGeneration.ts"

const DAY = Date.UTC(2026, 10, 21)

const settle = (id: string, overrides: Partial<Generation>) =>
  Effect.flatMap(Ledger, (ledger) =>
    ledger.settle(
      makeGeneration({ id, ownerId: "usr_anna", keyId: "key_a", model: "m/One", ...overrides }, 40),
      "2026-11"
    )
  )

const on = <E>(name: string, ledger: Layer.Layer<Ledger, E>) =>
  layer(ledger, { timeout: "60 seconds" })(name, (it) => {
    it.effect("by UTC day, model and key, of one owner, from inclusive, to exclusive", () =>
      Effect.gen(function* () {
        const { usage } = yield* Ledger
        const tokens = { promptTokens: 10, completionTokens: 3, cachedTokens: 0 }
        yield* settle("gen_1", { createdAtMs: DAY - 1, usage: tokens })
        yield* settle("gen_2", { createdAtMs: DAY, usage: tokens })
        yield* settle("gen_3", { createdAtMs: DAY + 86_399_999, usage: tokens })
        yield* settle("gen_4", { createdAtMs: DAY + 5, keyId: "key_b" })
        yield* settle("gen_5", { createdAtMs: DAY + 5, model: "m/a" })
        yield* settle("gen_6", { createdAtMs: DAY + 5, ownerId: "usr_berta" })
        yield* settle("gen_7", { createdAtMs: DAY + 5, ownerId: null })
        const span = { ownerId: "usr_anna", fromMs: DAY - 1, toMs: DAY + 86_400_000 }
        const rows = yield* usage(span)
        assert.deepStrictEqual(
          rows.map(({ day, keyId, model, requests }) => [day, model, keyId, requests]),
          [
            ["2026-11-20", "m/One", "key_a", 1],
            ["2026-11-21", "m/One", "key_a", 2],
            ["2026-11-21", "m/One", "key_b", 1],
            ["2026-11-21", "m/a", "key_a", 1]
          ]
        )
        assert.deepInclude(rows[1], { promptTokens: 20, completionTokens: 6, billedNano: 80 })
        assert.lengthOf(yield* usage({ ...span, fromMs: DAY, toMs: DAY + 86_399_999 }), 3)
        assert.deepStrictEqual(yield* usage({ ...span, ownerId: "usr_nobody" }), [])
      })
    )
  })

on("Usage in memory", Ledger.layerMemory)
on("Usage in the embedded database", Ledger.layer.pipe(Layer.provide(layerPglite)))
on("Usage in Postgres", Ledger.layer.pipe(Layer.provide(layerPostgres)))
