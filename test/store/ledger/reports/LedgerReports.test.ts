/**
 * Usage by day, also after generations were deleted: the same from memory and from a database,
 * exact to the nano.
 */
import { assert, it, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { type Generation } from "../../../../src/domain/Generation.ts"
import { idBound } from "../../../../src/domain/Ids.ts"
import { monthOf, zeroCost } from "../../../../src/domain/pricing/Money.ts"
import { LedgerReports } from "../../../../src/store/ledger/reports/LedgerReports.ts"
import { GenerationStore } from "../../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../../src/store/ledger/Ledger.ts"
import { type ReportGroup, type ReportQuery } from "../../../../src/store/ledger/reports/LedgerReports.ts"
import * as LedgerMemory from "../../../../src/store/ledger/Memory.ts"
import * as LedgerSql from "../../../../src/store/ledger/Sql.ts"
import { layerPglite } from "../../../support/Pglite.ts"
import { layerPostgres } from "../../../support/Postgres.ts"
import { makeGeneration } from "../makeGeneration.ts"

const DAY = 86_400_000
const FIRST = Date.UTC(2026, 10, 1) / DAY
const at = (day: number, ms = 0): number => (FIRST + day) * DAY + ms

let count = 0
const settle = (overrides: Partial<Generation>, billedNano: number) =>
  Effect.gen(function* () {
    const createdAtMs = overrides.createdAtMs ?? at(0)
    const id = `${idBound("gen", createdAtMs)}${String(++count).padStart(20, "0")}`
    const generation = makeGeneration({ id, ...overrides, createdAtMs }, billedNano)
    yield* (yield* Ledger).settle(generation, monthOf(createdAtMs))
    return generation
  })

/** The total, and the groups of one grouping. */
const report = ({
  groupBy = "day",
  ...query
}: Partial<Omit<ReportQuery, "groupBy">> & { groupBy?: ReportGroup } = {}) =>
  Effect.gen(function* () {
    const span = { keyId: null, ownerId: null, fromDay: FIRST, toDay: FIRST + 30, limit: 100 }
    const { parts, total } = yield* (yield* LedgerReports).report({ ...span, ...query, groupBy: [groupBy] })
    return { total, rows: parts.get(groupBy)?.rows ?? [], hasMore: parts.get(groupBy)?.hasMore }
  })

/** Each group with its billed amount. */
const groups = (query: Parameters<typeof report>[0]) =>
  Effect.map(report(query), ({ rows }) => rows.map(({ billedNano, group }) => [group, billedNano]))

const on = <E>(name: string, ledger: Layer.Layer<Ledger | LedgerReports | GenerationStore, E>) => {
  layer(ledger, { timeout: "60 seconds" })(name, (it) => {
    it.effect("sums up by day, model, key, owner and provider", () =>
      Effect.gen(function* () {
        const nothing = yield* report()
        assert.deepStrictEqual([nothing.rows, nothing.total.requests, nothing.hasMore], [[], 0, false])
        const cost = (billedNano: number, markupNano: number) => ({
          ...zeroCost,
          totalNano: billedNano - markupNano,
          markupNano,
          billedNano
        })
        // The last instant of a day and the first of the next.
        yield* settle({ keyId: "key_a", ownerId: "usr_1", createdAtMs: at(1, -1), cost: cost(1_000_000_001, 1) }, 0)
        yield* settle({ keyId: "key_a", ownerId: "usr_1", createdAtMs: at(1), model: "m/two", provider: "beta" }, 3)
        yield* settle({ keyId: "key_b", createdAtMs: at(1, 5), errorType: "provider_error" }, 20)
        yield* settle(
          {
            keyId: "key_b",
            createdAtMs: at(1, 6),
            cacheHit: true,
            cost: { ...zeroCost, completionNano: 9, cacheDiscountNano: 9 }
          },
          0
        )
        yield* settle({ keyId: "key_a", ownerId: "usr_1", createdAtMs: at(30) }, 500)

        const byDay = yield* report()
        assert.deepStrictEqual(byDay.rows, [
          {
            group: "2026-11-01",
            requests: 1,
            failed: 0,
            cacheHits: 0,
            promptTokens: 10,
            completionTokens: 20,
            cachedTokens: 5,
            totalNano: 1_000_000_000,
            markupNano: 1,
            billedNano: 1_000_000_001,
            savedNano: 0
          },
          {
            group: "2026-11-02",
            requests: 3,
            failed: 1,
            cacheHits: 1,
            promptTokens: 30,
            completionTokens: 60,
            cachedTokens: 15,
            totalNano: 23,
            markupNano: 0,
            billedNano: 23,
            savedNano: 9
          }
        ])
        assert.deepInclude(byDay.total, { requests: 4, failed: 1, billedNano: 1_000_000_024, savedNano: 9 })
        assert.deepStrictEqual(yield* groups({ groupBy: "model" }), [
          ["mock/echo", 1_000_000_021],
          ["m/two", 3]
        ])
        assert.deepStrictEqual(yield* groups({ groupBy: "provider" }), [
          ["mock", 1_000_000_021],
          ["beta", 3]
        ])
        assert.deepStrictEqual(yield* groups({ groupBy: "owner" }), [
          ["usr_1", 1_000_000_004],
          [null, 20]
        ])
        const byKey = yield* report({ groupBy: "key", limit: 1 })
        assert.deepStrictEqual([byKey.rows.map(({ group }) => group), byKey.hasMore], [["key_a"], true])
        assert.strictEqual(byKey.total.billedNano, 1_000_000_024)
        assert.deepStrictEqual(yield* groups({ keyId: "key_b", groupBy: "key" }), [["key_b", 20]])
        assert.deepStrictEqual(yield* groups({ toDay: FIRST + 31, fromDay: FIRST + 30 }), [["2026-12-01", 500]])
        assert.deepStrictEqual(yield* groups({ toDay: FIRST }), [])
        assert.deepStrictEqual(yield* groups({ ownerId: "usr_1", groupBy: "model" }), [
          ["mock/echo", 1_000_000_001],
          ["m/two", 3]
        ])
        assert.deepStrictEqual(yield* groups({ model: "m/two", groupBy: "key" }), [["key_a", 3]])
        assert.deepStrictEqual(yield* groups({ provider: "mock", groupBy: "key" }), [
          ["key_a", 1_000_000_001],
          ["key_b", 20]
        ])
        assert.deepStrictEqual(yield* groups({ ownerId: "usr_2" }), [])
        assert.deepStrictEqual(yield* groups({ ownerId: "usr_1", keyId: "key_b" }), [])
        const several = yield* (yield* LedgerReports).report({
          keyId: null,
          ownerId: null,
          fromDay: FIRST,
          toDay: FIRST + 30,
          limit: 1,
          groupBy: ["owner", "day", "provider"]
        })
        assert.deepStrictEqual(several.total, byDay.total)
        assert.deepStrictEqual(
          [...several.parts].map(([by, { hasMore, rows }]) => [by, rows.map(({ group }) => group), hasMore]),
          [
            ["owner", ["usr_1"], true],
            ["day", ["2026-11-01"], true],
            ["provider", ["mock"], true]
          ]
        )
        assert.deepStrictEqual(yield* groups({ keyId: "'; DROP TABLE usage_days; --" }), [])
      })
    )

    it.effect("deletes the oldest generations up to a limit; sums and counters stay and are not counted twice", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = "key_kept"
        const made = yield* Effect.forEach([40, 41, 42, 43, 44], (day) => settle({ keyId, createdAtMs: at(day) }, 10))
        const before = yield* report({ keyId, toDay: FIRST + 60 })
        const counters = yield* ledger.balances([keyId], monthOf(at(40)))
        // The generations of the previous test are older still.
        while ((yield* generationStore.deleteBefore(at(40), 1)) > 0);
        assert.strictEqual(yield* generationStore.deleteBefore(at(43), 2), 2)
        assert.strictEqual(yield* generationStore.deleteBefore(at(43), 2), 1)
        assert.strictEqual(yield* generationStore.deleteBefore(at(43), 2), 0)
        const { generations } = yield* generationStore.list({ keyId, limit: 10, cursor: null })
        assert.deepStrictEqual(generations, made.slice(3).toReversed())
        assert.isTrue(Option.isNone(yield* generationStore.find(made[0]?.id ?? "", keyId)))
        assert.deepStrictEqual(yield* report({ keyId, toDay: FIRST + 60 }), before)
        assert.deepStrictEqual(yield* ledger.balances([keyId], monthOf(at(40))), counters)
      })
    )

    it.effect("finds the usage of a model or a provider in a period long ago", () =>
      Effect.gen(function* () {
        const generationStore = yield* GenerationStore
        const old = yield* settle({ keyId: "key_old", createdAtMs: at(50), model: "m/rare", provider: "gamma" }, 1)
        yield* settle({ keyId: "key_old", createdAtMs: at(51) }, 1)
        const ids = (query: object) =>
          Effect.map(generationStore.list({ keyId: null, limit: 10, cursor: null, ...query }), ({ generations }) =>
            generations.map(({ id }) => id)
          )
        assert.deepStrictEqual(yield* ids({ model: "m/rare" }), [old.id])
        assert.deepStrictEqual(yield* ids({ provider: "gamma", toMs: at(51) }), [old.id])
        assert.deepStrictEqual(yield* ids({ provider: "gamma", fromMs: at(51) }), [])
        assert.deepStrictEqual(yield* ids({ model: "m/never" }), [])
        assert.deepStrictEqual(yield* ids({ fromMs: at(50), toMs: at(50, 1) }), [old.id])
        assert.deepStrictEqual(yield* ids({ fromMs: -1, toMs: 8_640_000_000_000_000, model: "m/rare" }), [old.id])
      })
    )
  })
}

on("Memory", Layer.fresh(LedgerMemory.layer))
on("The embedded database", Layer.fresh(LedgerSql.layer).pipe(Layer.provide(Layer.fresh(layerPglite))))
on("Postgres", Layer.fresh(LedgerSql.layer).pipe(Layer.provide(Layer.fresh(layerPostgres))))

it.effect("never blocks while a batch is deleted: requests, lists, reports and another batch continue", () =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const generationStore = yield* GenerationStore
    const sql = yield* PgClient.PgClient
    const keyId = "key_busy"
    for (let day = 0; day < 6; day++) yield* settle({ keyId, createdAtMs: at(day) }, 10)
    const deleted = yield* Deferred.make<number>()
    const isEnough = yield* Deferred.make<void>()
    // The transaction stays open, with its rows deleted but not committed.
    const deleting = yield* Effect.forkChild(
      sql.withTransaction(
        generationStore.deleteBefore(at(3), 2).pipe(
          Effect.tap((gone) => Deferred.succeed(deleted, gone)),
          Effect.andThen(Deferred.await(isEnough))
        )
      )
    )
    assert.strictEqual(yield* Deferred.await(deleted), 2)
    const generationId = `${idBound("gen", at(6))}${"7".padStart(20, "0")}`
    yield* ledger.reserve({
      generationId,
      keyId,
      ownerId: null,
      model: "mock/echo",
      month: monthOf(at(6)),
      amountNano: 100,
      capNano: 1_000,
      createdAtMs: at(6),
      leaseMs: 60_000,
      processId: "process"
    })
    yield* settle({ id: generationId, keyId, createdAtMs: at(6) }, 10)
    assert.strictEqual((yield* generationStore.list({ keyId, limit: 10, cursor: null })).generations.length, 7)
    assert.strictEqual((yield* report({ keyId })).total.billedNano, 70)
    assert.strictEqual(yield* generationStore.deleteBefore(at(3), 2), 1)
    yield* Deferred.succeed(isEnough, undefined)
    yield* Fiber.join(deleting)
    assert.strictEqual((yield* generationStore.list({ keyId, limit: 10, cursor: null })).generations.length, 4)
    assert.strictEqual((yield* ledger.balances([keyId], "2026-11")).get(keyId)?.spentNano, 70)
  }).pipe(Effect.provide(Layer.fresh(LedgerSql.layer).pipe(Layer.provideMerge(Layer.fresh(layerPostgres)))))
)
