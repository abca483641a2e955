/** Rows of earlier versions, whose receipts have no lines, stay readable. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodeGenerations, generationColumns, generationValues } from "../../../src/store/ledger/GenerationRow.ts"
import { makeGeneration } from "./makeGeneration.ts"

const rowOf = (receipt: (written: object) => object): object => {
  const values = generationValues(
    makeGeneration(
      {
        id: "gen_1",
        usage: {
          promptTokens: 10,
          completionTokens: 20,
          cachedTokens: 5,
          rare: { cache_write: 3 },
          serviceTier: "flex"
        },
        cost: {
          promptNano: 1,
          completionNano: 2,
          cacheDiscountNano: 0,
          feesNano: 4,
          totalNano: 7,
          markupNano: 0,
          billedNano: 7,
          lines: [{ class: "web_search", quantity: 1, price: 4_000, nano: 4, assumed: true }]
        }
      },
      7
    ),
    "2026-11"
  )
  const row = Object.fromEntries(generationColumns.map((name, at) => [name, values[at]]))
  return { ...row, receipt: JSON.parse(JSON.stringify(receipt(row["receipt"] as object))) }
}

it.effect("a receipt comes back with its lines, or without any", () =>
  Effect.gen(function* () {
    const [now] = yield* decodeGenerations([rowOf((receipt) => receipt)])
    assert.deepStrictEqual(now?.cost.lines, [
      { class: "web_search", quantity: 1, price: 4_000, nano: 4, assumed: true }
    ])
    assert.deepInclude(now?.usage, { rare: { cache_write: 3 }, serviceTier: "flex" })
    const [before] = yield* decodeGenerations([
      rowOf((receipt) => ({
        ...receipt,
        lines: undefined,
        feesNano: undefined,
        rare: undefined,
        serviceTier: undefined
      }))
    ])
    assert.deepInclude(before?.cost, { lines: [], feesNano: 0, totalNano: 7 })
    assert.deepStrictEqual(before?.usage, { promptTokens: 10, completionTokens: 20, cachedTokens: 5 })
  })
)
