/**
 * What operators come for, at 5,000 keys and 100,000 generations, each task from the overview in a
 * counted number of clicks.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { makeDice } from "../../scripts/privacyEval/Dice.ts"
import { Audit } from "../store/ledger/LedgerAudit.ts"
import { assertHolds } from "../support/assertHolds.ts"
import { drawEnding } from "../support/month/endings.ts"
import { month } from "../support/month/fillMonth.ts"
import { Console } from "./browser.ts"
import { layerMonth } from "./month.ts"

layer(Audit.layer.pipe(Layer.provideMerge(layerMonth)), { timeout: "90 seconds", excludeTestServices: true })(
  "the console at size",
  (it) => {
    it("has receipts that hold, whatever the ending", () => {
      const dice = makeDice(7)
      for (let drawn = 0; drawn < 1_000; drawn++) assertHolds(drawEnding(dice, drawn % 10 === 0 ? "delta" : null))
    })

    it.effect("has books that agree, and a gateway that serves them", () =>
      Effect.gen(function* () {
        const { differences } = yield* Audit
        assert.deepStrictEqual(yield* differences, [])
        const sql = yield* PgClient.PgClient
        const [counts] = yield* sql<Omit<typeof month, "days">>`
        SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM api_keys) AS keys,
          (SELECT count(*) FROM generations) AS generations, (SELECT count(*) FROM refusals) AS refusals`
        const { days: _, ...expected } = month
        assert.deepInclude(counts, expected)
        const { gateway } = yield* Console
        const headers = { "x-admin-key": gateway.adminKey }
        const listed = JSON.parse((yield* gateway.send("/v1/admin/requests?limit=100", { headers })).text)
        assert.lengthOf(listed.data, 100)
        const { id } = listed.data.find((one: { readonly attempts: number }) => one.attempts > 1)
        const receipt = JSON.parse((yield* gateway.send(`/v1/admin/generations/${id}`, { headers })).text)
        const paid = receipt.attempts.reduce((sum: number, one: { readonly cost_usd: number }) => sum + one.cost_usd, 0)
        assert.closeTo(paid, receipt.cost.total_cost_usd, 1e-12)
      })
    )
  }
)
