/** The guarantees of every `SentAlerts`, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { type BudgetAlert, SentAlerts } from "../../../src/store/alerts/SentAlerts.ts"

export const sentAlertsSuite = (it: Vitest.MethodsNonLive<SentAlerts>): void => {
  describe("SentAlerts", () => {
    it.effect("accepts an alert once of many concurrent calls; another budget or month is another alert", () =>
      Effect.gen(function* () {
        const sent = yield* SentAlerts
        const alert: BudgetAlert = { keyId: "key_1", month: "2026-11", percent: 80, capNano: 1_000_000_000_000 }
        const firsts = yield* Effect.forEach(Array.from({ length: 10 }), () => sent.add(alert), {
          concurrency: "unbounded"
        })
        assert.lengthOf(firsts.filter(Boolean), 1)
        for (const other of [{ percent: 100 }, { month: "2026-12" }, { capNano: 2 }, { keyId: "key_2" }]) {
          assert.isTrue(yield* sent.add({ ...alert, ...other }))
        }
        yield* sent.deleteBefore("2026-12")
        assert.isTrue(yield* sent.add(alert))
        assert.isFalse(yield* sent.add({ ...alert, month: "2026-12" }))
      })
    )
  })
}
