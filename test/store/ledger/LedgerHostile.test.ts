/**
 * Every ledger accepts any content of a generation or reservation from clients and providers, and
 * stays readable.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import { type Generation } from "../../../src/domain/Generation.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { makeGeneration } from "./makeGeneration.ts"

const MONTH = "2026-11"
let count = 0
const freshId = () => `gen_${String(++count).padStart(32, "0")}`

const Text = Schema.Union([
  Schema.String,
  Schema.Literals([
    "\0",
    "a\0b",
    "\ud800",
    "\udc00 x",
    "\\u0000",
    "\\\0",
    "\\\\ud800",
    '{"a":"\\u0000"}',
    "\u{1f600}",
    '\u0001\n"\\',
    "x".repeat(100_000)
  ])
])
const Figure = Schema.Union([
  Schema.Int,
  Schema.Literals([-1, 1.5, 1e15, 2 ** 53, 2 ** 63, 2 ** 64, 1e21, 1e300, 5e-324, -(2 ** 63)]),
  Schema.Literals(["NaN", "Infinity", "-Infinity"])
])
const figure = (value: number | string): number => Number(value)

const Usage = Schema.Struct({
  promptTokens: Figure,
  completionTokens: Figure,
  cachedTokens: Figure,
  reasoningTokens: Figure
})
const usageOf = (usage: typeof Usage.Type) => ({
  promptTokens: figure(usage.promptTokens),
  completionTokens: figure(usage.completionTokens),
  cachedTokens: figure(usage.cachedTokens),
  reasoningTokens: figure(usage.reasoningTokens),
  rare: { cache_write: figure(usage.promptTokens), web_search: figure(usage.cachedTokens) },
  serviceTier: "x".repeat(300)
})

const Hostile = Schema.Struct({
  text: Text,
  other: Text,
  figure: Figure,
  amount: Figure,
  usage: Usage,
  charged: Usage,
  entries: Schema.Literals([0, 1, 3, 5_000])
})

const hostile = (id: string, keyId: string, given: typeof Hostile.Type): Generation => {
  const amount = figure(given.amount)
  return makeGeneration(
    {
      id,
      keyId,
      model: given.text,
      provider: given.other,
      finishReason: given.text,
      errorType: given.other,
      usage: usageOf(given.usage),
      cost: {
        promptNano: amount,
        completionNano: amount,
        cacheDiscountNano: amount,
        feesNano: amount,
        totalNano: amount,
        markupNano: -amount,
        billedNano: amount,
        lines: Array.from({ length: given.entries }, () => ({
          class: "web_search" as const,
          quantity: amount,
          price: amount,
          nano: amount,
          assumed: true as const
        }))
      },
      latencyMs: figure(given.figure),
      timeToFirstTokenMs: figure(given.figure),
      attempts: Array.from({ length: given.entries }, () => ({
        provider: given.text,
        model: given.other,
        status: "error" as const,
        latencyMs: figure(given.figure),
        errorType: given.text,
        httpStatus: figure(given.figure),
        charge: { usage: usageOf(given.charged), totalNano: amount }
      })),
      excluded: Array.from({ length: given.entries }, () => ({
        slug: given.text,
        model: given.other,
        reason: given.text
      })),
      price: { prompt: amount, completion: amount, cachedPrompt: amount },
      reservation: { reservedNano: amount, extendedNano: amount, settledNano: amount }
    },
    0
  )
}

const hostileSuite = <E>(name: string, ledgerLayer: Layer.Layer<Ledger | GenerationStore, E>) =>
  layer(ledgerLayer, { timeout: "60 seconds" })(name, (it) => {
    it.effect.prop(
      "settles a generation with any content, and reads it back",
      { given: Hostile },
      ({ given }) =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const generationStore = yield* GenerationStore
          const id = freshId()
          const keyId = `key_${id}`
          const reserved = yield* ledger.reserve({
            generationId: id,
            keyId,
            ownerId: null,
            model: given.text,
            month: MONTH,
            amountNano: Math.abs(figure(given.amount)),
            capNano: null,
            createdAtMs: 0,
            leaseMs: 60_000,
            processId: "prc_1"
          })
          assert.strictEqual(reserved._tag, "Reserved")
          yield* ledger.settle(hostile(id, keyId, given), MONTH)
          const found = yield* generationStore.find(id, keyId)
          assert.isTrue(Option.isSome(found) && found.value._tag === "Settled", "it is not settled")
          const settled = Option.getOrThrow(found)
          if (settled._tag !== "Settled") return
          const { generation } = settled
          assert.isTrue(Number.isSafeInteger(generation.cost.billedNano) && generation.cost.billedNano >= 0)
          assert.isBelow(JSON.stringify(generation).length, 200_000)
          yield* ledger.replay(hostile(freshId(), keyId, given), MONTH, 0, null)
          const balance = (yield* ledger.balances([keyId], MONTH)).get(keyId)
          assert.strictEqual(balance?.reservedNano, 0)
        }),
      { arbitrary: { seed: "tollgate", runs: 60 } }
    )
  })

hostileSuite("Hostile texts in memory", LedgerMemory.layer)
hostileSuite("Hostile texts in the embedded database", LedgerSql.layer.pipe(Layer.provide(layerPglite)))
hostileSuite("Hostile texts in Postgres", LedgerSql.layer.pipe(Layer.provide(layerPostgres)))
