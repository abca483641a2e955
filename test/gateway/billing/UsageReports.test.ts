/** Reports leave the database free for requests: two run at a time, however many are asked for. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { UsageReports } from "../../../src/gateway/billing/UsageReports.ts"
import { LedgerReports } from "../../../src/store/ledger/reports/LedgerReports.ts"
import * as RefusalMemory from "../../../src/store/refusals/RefusalMemory.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"

it.effect("of sixty concurrent reports, two read the ledger at a time, and all are answered", () =>
  Effect.gen(function* () {
    const ledgerReports = yield* LedgerReports
    let running = 0
    let most = 0
    const slow = Layer.succeed(LedgerReports, {
      ...ledgerReports,
      report: (query) =>
        Effect.gen(function* () {
          most = Math.max(most, ++running)
          yield* Effect.yieldNow
          running--
          return yield* ledgerReports.report(query)
        })
    })
    yield* Effect.gen(function* () {
      const { read } = yield* UsageReports
      const asked = yield* Effect.forEach(Array.from({ length: 60 }), () =>
        Effect.forkChild(read({ keyId: "key_1", ownerId: null, groupBy: [], fromMs: null, toMs: null }), {
          startImmediately: true
        })
      )
      assert.lengthOf(yield* Fiber.joinAll(asked), 60)
      assert.strictEqual(most, 2)
    }).pipe(Effect.provide(Layer.provide(UsageReports.layer, slow)))
  }).pipe(Effect.provide(Layer.merge(LedgerMemory.layer, RefusalMemory.layer)))
)
