/**
 * A month that ends while a stream runs: the whole stream, including slices reserved after
 * midnight, is billed to the month in which the request began.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import { advanceThrough } from "../../contract/clock.ts"
import { ask } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"
import { ending, piece, stop } from "../scripts.ts"

const MIDNIGHT = Date.UTC(2026, 11, 1)
const WORDS = 2_000
/** The price of ten prompt tokens and the words, at 1 and 2 USD a million. */
const PRICE_NANO = 10 * 1_000 + WORDS * 2_000

const words = Array.from({ length: WORDS }, () => piece(" a"))
const usage = { promptTokens: 10, completionTokens: WORDS, cachedTokens: 0 }
const events = [...words.slice(0, 10), 10_000, ...words.slice(10), stop, ending(usage)]
const app = TestApp.layer({
  providers: [{ slug: "alpha", models: { "test/small": [{ events }, { events: [piece("Hi"), stop, ending()] }] } }]
})

it.effect("a stream over midnight is billed to the month in which it began", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const ledger = yield* Ledger
    const generationStore = yield* GenerationStore
    const { id, secret: key } = yield* issueKey({ monthlyBudgetNano: PRICE_NANO + 500_000 })
    const of = (month: string) => Effect.map(ledger.balances([id], month), (balances) => balances.get(id))
    const request = (content: string) => chat(ask(content, { stream: true, max_tokens: 4_000 }), { key })

    const first = yield* Effect.forkChild(request("before midnight"))
    const { headers, text } = yield* advanceThrough(first)
    assert.include(text, "data: [DONE]")
    assert.notInclude(text, `"error"`)
    const settled = yield* generationStore.list({ keyId: id, limit: 10, cursor: null })
    assert.deepStrictEqual(
      settled.generations.map(({ cost, id, createdAtMs, latencyMs, reservation }) => ({
        id,
        billedNano: cost.billedNano,
        // It reserved more than its first slice, in the next month.
        isExtended: (reservation?.extendedNano ?? 0) > 0,
        days: [createdAtMs < MIDNIGHT, createdAtMs + latencyMs > MIDNIGHT]
      })),
      [{ id: headers.get("x-generation-id") ?? "", billedNano: PRICE_NANO, isExtended: true, days: [true, true] }]
    )
    assert.deepStrictEqual(yield* of("2026-11"), { spentNano: PRICE_NANO, reservedNano: 0 })
    assert.deepStrictEqual(yield* of("2026-12"), { spentNano: 0, reservedNano: 0 })

    // The budget of November is full again in December.
    assert.strictEqual((yield* request("after midnight")).status, 200)
    assert.deepStrictEqual(yield* of("2026-11"), { spentNano: PRICE_NANO, reservedNano: 0 })
    assert.isAbove((yield* of("2026-12"))?.spentNano ?? 0, 0)
  }).pipe(Effect.provide(app), (test) => Effect.andThen(TestClock.setTime(MIDNIGHT - 5_000), test))
)
