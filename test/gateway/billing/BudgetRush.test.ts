/**
 * Many concurrent requests on one key's budget through the whole gateway, on a real database: all
 * of the budget is used, and not a nano-USD more.
 */
import * as KeyRepoSql from "../../../src/store/keys/KeyRepoSql.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ask, helloReply } from "../../contract/wire.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { TestApp } from "../../support/TestApp.ts"

const REQUESTS = 200
/** The cost of one request. */
const PRICE_NANO = 5_000
const PAID = 50
const CAP_NANO = PAID * PRICE_NANO + PRICE_NANO - 1

/**
 * Records what is spent and reserved of the budget in the database after each write to the ledger.
 */
const watchedLedger = (held: Array<number>) =>
  Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) => {
      const look = (keyId: string, month: string) =>
        Effect.map(ledger.balances([keyId], month), (balances) => {
          const { reservedNano, spentNano } = balances.get(keyId) ?? { reservedNano: 0, spentNano: 0 }
          held.push(reservedNano + spentNano)
        })
      return Ledger.of({
        ...ledger,
        reserve: (reservation) => Effect.tap(ledger.reserve(reservation), look(reservation.keyId, reservation.month)),
        settle: (generation, month) => Effect.tap(ledger.settle(generation, month), look(generation.keyId, month))
      })
    })
  )

const appWith = (held: Array<number>) =>
  TestApp.layer({
    providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }],
    stores: Layer.merge(watchedLedger(held).pipe(Layer.provideMerge(LedgerSql.layer)), KeyRepoSql.layer).pipe(
      Layer.provide(layerPostgres)
    )
  })

it.effect("200 concurrent requests on a budget for 50, half of them streams", () => {
  const held: Array<number> = []
  return Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const ledger = yield* Ledger
    const generationStore = yield* GenerationStore
    const { id, secret: key } = yield* issueKey({ monthlyBudgetNano: CAP_NANO })

    const answers = yield* Effect.forEach(
      Array.from({ length: REQUESTS }, (_, nth) => nth % 2 === 0),
      (stream) => chat(ask("Hi", { stream, max_tokens: 1 }), { key, headers: { "cache-control": "no-store" } }),
      { concurrency: "unbounded" }
    )
    // Each request asked for budget, and each paid request was settled.
    assert.isAtLeast(held.length, REQUESTS + PAID)
    assert.isAtMost(Math.max(...held), CAP_NANO)
    assert.isAtLeast(Math.max(...held), PAID * PRICE_NANO)

    const paid = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    assert.deepStrictEqual([paid.length, refused.length], [PAID, REQUESTS - PAID])
    for (const { headers, status, text } of refused) {
      const { error } = JSON.parse(text)
      assert.deepStrictEqual([status, error.type, headers.get("x-should-retry")], [402, "budget_exceeded", "false"])
      const { cap_usd: cap, needed_usd: needed, reserved_usd: reserved, resets_at, spent_usd: spent } = error.details
      assert.strictEqual(cap, CAP_NANO / 1e9)
      assert.strictEqual(resets_at, "1970-02-01T00:00:00.000Z")
      assert.isAbove(Math.round((spent + reserved + needed) * 1e9), CAP_NANO)
    }
    assert.deepStrictEqual((yield* ledger.balances([id], "1970-01")).get(id), {
      spentNano: PAID * PRICE_NANO,
      reservedNano: 0
    })
    const { generations } = yield* generationStore.list({ keyId: id, limit: REQUESTS, cursor: null })
    assert.deepStrictEqual(
      generations.map(({ cost, id }) => [id, cost.billedNano]),
      paid
        .map(({ headers }) => headers.get("x-generation-id") ?? "")
        .toSorted()
        .toReversed()
        .map((id) => [id, PRICE_NANO])
    )
  }).pipe(Effect.provide(appWith(held)))
})
