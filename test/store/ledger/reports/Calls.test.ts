/**
 * The calls of providers: by attempts, the same from memory and from a database, and read by an
 * index.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Attempt, type Generation } from "../../../../src/domain/Generation.ts"
import { idBound } from "../../../../src/domain/Ids.ts"
import { monthOf } from "../../../../src/domain/pricing/Money.ts"
import { quantileOf, timeBucketOf } from "../../../../src/domain/Calls.ts"
import { callsQuery } from "../../../../src/store/ledger/reports/CallsSql.ts"
import { LedgerReports } from "../../../../src/store/ledger/reports/LedgerReports.ts"
import { Ledger } from "../../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../../src/store/ledger/Memory.ts"
import * as LedgerSql from "../../../../src/store/ledger/Sql.ts"
import { Sql } from "../../../../src/store/sql/Sql.ts"
import { layerPglite } from "../../../support/Pglite.ts"
import { freshDatabase, layerPostgres } from "../../../support/Postgres.ts"
import { makeGeneration } from "../makeGeneration.ts"
import { fillWith, indexesBuilt } from "../manyGenerations.ts"

const T0 = Date.UTC(2026, 10, 22, 10)
const MINUTE_MS = 60_000
const SLOT_MS = 15 * MINUTE_MS

const ok = (provider: string, latencyMs: number, more: Partial<Attempt> = {}): Attempt => ({
  provider,
  model: "m",
  status: "ok",
  latencyMs,
  errorType: null,
  httpStatus: 200,
  ...more
})
const failed = (provider: string, errorType: string, httpStatus: number | null, more: Partial<Attempt> = {}): Attempt =>
  ok(provider, 5, { status: errorType === "timeout" ? "timeout" : "error", errorType, httpStatus, ...more })

let count = 0
const settle = (minute: number, attempts: ReadonlyArray<Attempt>, more: Partial<Generation> = {}) =>
  Effect.gen(function* () {
    const createdAtMs = T0 + minute * MINUTE_MS
    const id = `${idBound("gen", createdAtMs)}${String(++count).padStart(20, "0")}`
    const generation = makeGeneration({ id, createdAtMs, attempts, streamed: false, ...more }, 10)
    yield* (yield* Ledger).settle(generation, monthOf(createdAtMs))
  })

const on = <E>(name: string, ledger: Layer.Layer<Ledger | LedgerReports, E>) =>
  layer(ledger, { timeout: "60 seconds" })(name, (it) => {
    it.effect("counts calls and failures by attempt, with times, and the words of the last failure", () =>
      Effect.gen(function* () {
        yield* settle(1, [
          failed("a", "server_error", 503, { message: "first", startedMs: 0 }),
          failed("a", "server_error", 503, { message: "second", startedMs: 250 }),
          ok("b", 100)
        ])
        yield* settle(2, [failed("a", "unreachable", null, { startedMs: 7 }), ok("b", 1_000)])
        yield* settle(3, [ok("a", 40, { startedMs: 10, endedMs: 2_010 })], { streamed: true })
        yield* settle(4, [ok("a", 40, { startedMs: 10 })], { streamed: true, cancelled: true })
        // Answers of the provider, or no calls.
        yield* settle(5, [failed("a", "rejected", 400)])
        yield* settle(5, [failed("a", "rejected", 404)])
        yield* settle(6, [ok("a", 0, { status: "skipped", errorType: "circuit_open", httpStatus: null })])
        yield* settle(6, [ok("a", 5, { status: "cancelled", httpStatus: null })])
        yield* settle(6, [failed("a", "unsupported", null)])
        yield* settle(7, [], { cacheHit: true, provider: "a" })
        // The next slot, and outside of the span.
        yield* settle(15, [ok("b", 100, { model: "n" })])
        yield* settle(30, [ok("b", 100)])

        const reports = yield* LedgerReports
        const calls = yield* reports.calls({ fromMs: T0, toMs: T0 + 2 * SLOT_MS, bucketMs: SLOT_MS })
        const [a, b, n, ...more] = calls
          .toSorted((one, other) => (one.provider + one.model < other.provider + other.model ? -1 : 1))
          .map((one) => ({ ...one, startMs: one.startMs - T0 }))
        assert.deepStrictEqual(more, [])
        assert(a !== undefined && b !== undefined && n !== undefined)
        assert.deepStrictEqual(
          { ...a, failures: a.failures.toSorted((one, other) => (one.errorType < other.errorType ? -1 : 1)) },
          {
            startMs: 0,
            provider: "a",
            model: "m",
            answered: 3,
            failures: [
              { errorType: "rejected", httpStatus: 404, count: 1 },
              { errorType: "server_error", httpStatus: 503, count: 2 },
              { errorType: "unreachable", httpStatus: null, count: 1 }
            ],
            lastFailure: { atMs: T0 + 5 * MINUTE_MS, errorType: "rejected", httpStatus: 404, message: null },
            wholeMs: new Map([[timeBucketOf(2_000), 1]]),
            firstTokenMs: new Map([[timeBucketOf(40), 2]])
          }
        )
        assert.deepStrictEqual([b.startMs, b.answered, b.failures, b.lastFailure], [0, 2, [], null])
        assert.strictEqual(quantileOf([b.wholeMs], 0.5), quantileOf([new Map([[timeBucketOf(100), 1]])], 1))
        assert.deepStrictEqual([n.startMs, n.model, n.answered], [SLOT_MS, "n", 1])
        const [first] = yield* reports.calls({ fromMs: T0, toMs: T0 + 2 * MINUTE_MS, bucketMs: SLOT_MS })
        assert.deepStrictEqual(first?.lastFailure, {
          atMs: T0 + MINUTE_MS + 250,
          errorType: "server_error",
          httpStatus: 503,
          message: "second"
        })
      })
    )
  })

on("in memory", LedgerMemory.layer)
on("in Postgres", LedgerSql.layer.pipe(Layer.provide(layerPostgres)))
on("in the embedded database", LedgerSql.layer.pipe(Layer.provide(layerPglite)))

it("quantiles are within 3 %, and of nothing there are none", () => {
  const counts = [50, 100, 150, 200].map((ms) => new Map([[timeBucketOf(ms), 25]]))
  for (const [share, ms] of [
    [0.25, 50],
    [0.5, 100],
    [0.95, 200]
  ] as const)
    assert.approximately(quantileOf(counts, share) ?? 0, ms, ms * 0.03)
  assert.isNull(quantileOf([], 0.5))
})

it.live(
  "a span reads its own rows alone",
  () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(Sql.layerPostgres({ url: yield* freshDatabase }))
      const sql = Context.get(context, PgClient.PgClient)
      yield* indexesBuilt(sql)
      yield* fillWith(sql, "generations", 20_000)
      const [row] = yield* sql<{ readonly "QUERY PLAN": ReadonlyArray<unknown> }>`
        EXPLAIN (FORMAT JSON) ${callsQuery(sql, { fromMs: 100, toMs: 200, bucketMs: 100 })}`
      const plan = JSON.stringify(row)
      assert.include(plan, "generations_pkey")
      assert.notInclude(plan, "Seq Scan")
    }).pipe(Effect.scoped),
  60_000
)
