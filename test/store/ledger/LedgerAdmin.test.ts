/** The admin's queries over all keys: the same results from memory and from a database. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { type Attempt, type Generation } from "../../../src/domain/Generation.ts"
import { idBound } from "../../../src/domain/Ids.ts"
import { zeroCost } from "../../../src/domain/pricing/Money.ts"
import { LedgerReports } from "../../../src/store/ledger/reports/LedgerReports.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import { type LedgerBucket } from "../../../src/store/ledger/reports/LedgerReports.ts"
import { type GenerationQuery } from "../../../src/store/ledger/GenerationStore.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { makeGeneration } from "./makeGeneration.ts"

const T0 = Date.UTC(2026, 10, 21, 12)
const MINUTE = 60_000

const settle = (id: string, overrides: Partial<Generation> = {}, billedNano = 40) =>
  Effect.flatMap(Ledger, (ledger) => ledger.settle(makeGeneration({ id, ...overrides }, billedNano), "2026-11"))

/** Both tests read everything in a store, so each has its own. */
const on = <E>(name: string, ledger: Layer.Layer<Ledger | LedgerReports | GenerationStore, E>) => {
  layer(ledger, { timeout: "60 seconds" })(`${name}: generations`, (it) => {
    it.effect("of every key, by key, model, provider, error and time; and each by its id", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        // Like real ids, which contain the time.
        const id = (nth: number) => `${idBound("gen", T0 + nth - 1)}${String(nth).padStart(20, "0")}`
        const [one, two, three, four] = [id(1), id(2), id(3), id(4)]
        yield* settle(one, { keyId: "key_a", createdAtMs: T0 })
        yield* settle(two, { keyId: "key_b", provider: "beta", createdAtMs: T0 + 1 })
        yield* settle(three, { keyId: "key_b", model: "m/two", errorType: "provider_error", createdAtMs: T0 + 2 })
        yield* settle(four, { keyId: "key_a", errorType: "timeout", createdAtMs: T0 + 3 })
        const ids = (query: Partial<GenerationQuery>) =>
          Effect.map(
            generationStore.list({ keyId: null, limit: 10, cursor: null, ...query }),
            ({ generations, nextCursor }) => [
              ...generations.map(({ id }) => id),
              ...(nextCursor === null ? [] : [`next ${nextCursor}`])
            ]
          )
        assert.deepStrictEqual(yield* ids({}), [four, three, two, one])
        assert.deepStrictEqual(yield* ids({ limit: 3 }), [four, three, two, `next ${two}`])
        assert.deepStrictEqual(yield* ids({ cursor: two }), [one])
        assert.deepStrictEqual(yield* ids({ keyId: "key_b" }), [three, two])
        assert.deepStrictEqual(yield* ids({ model: "m/two" }), [three])
        assert.deepStrictEqual(yield* ids({ provider: "beta" }), [two])
        assert.deepStrictEqual(yield* ids({ error: "any" }), [four, three])
        assert.deepStrictEqual(yield* ids({ error: "none" }), [two, one])
        assert.deepStrictEqual(yield* ids({ error: "timeout" }), [four])
        assert.deepStrictEqual(yield* ids({ fromMs: T0 + 1, toMs: T0 + 3, error: "any" }), [three])
        const own = id(5)
        yield* settle(own, { keyId: "key_c", ownerId: "usr_1" })
        assert.deepStrictEqual(yield* ids({ ownerId: "usr_1" }), [own])
        assert.deepStrictEqual(yield* ids({ ownerId: "usr_1", keyId: "key_a" }), [])
        assert.deepStrictEqual(yield* ids({ error: "'; DROP TABLE generations; --" }), [])

        const found = yield* generationStore.find(three, null)
        assert.isTrue(Option.isSome(found) && found.value._tag === "Settled")
        assert.isTrue(Option.isNone(yield* generationStore.find("gen_9", null)))
        const state = (id: string, ownerId: string) =>
          Effect.map(generationStore.find(id, null, ownerId), (found) =>
            Option.isSome(found) ? found.value._tag : "none"
          )
        assert.deepStrictEqual(yield* state(own, "usr_1"), "Settled")
        assert.deepStrictEqual(yield* state(own, "usr_2"), "none")
        assert.deepStrictEqual(yield* state(three, "usr_1"), "none")
        yield* ledger.reserve({
          generationId: "gen_5",
          keyId: "key_a",
          ownerId: "usr_2",
          model: "m/two",
          month: "2026-11",
          amountNano: 1,
          capNano: null,
          createdAtMs: T0,
          leaseMs: MINUTE,
          processId: "process"
        })
        assert.deepStrictEqual(
          yield* generationStore.find("gen_5", null),
          Option.some({ _tag: "Pending", isOver: false })
        )
        assert.deepStrictEqual(yield* state("gen_5", "usr_2"), "Pending")
        assert.deepStrictEqual(yield* state("gen_5", "usr_1"), "none")
      })
    )
  })

  layer(ledger, { timeout: "60 seconds" })(`${name}: requests`, (it) => {
    it.effect("by attempted provider, status, request, ending and by what a search stands for", () =>
      Effect.gen(function* () {
        const generationStore = yield* GenerationStore
        const id = (nth: number) => `${idBound("gen", T0 + nth - 1)}${String(nth).padStart(20, "0")}`
        const call = (provider: string): Attempt => ({
          provider,
          model: "mock/echo",
          status: "ok",
          latencyMs: 1,
          errorType: null,
          httpStatus: 200
        })
        const at = (nth: number) => ({ createdAtMs: T0 + nth - 1 })
        const asked = (nth: number, status: number) => ({
          ...at(nth),
          request: { id: `req_${nth}`, endpoint: "POST /v1/chat/completions", status }
        })
        yield* settle(id(1), { provider: "alpha", attempts: [call("alpha")], ...asked(1, 200) })
        yield* settle(id(2), {
          provider: "beta",
          attempts: [call("alpha"), call("gamma"), call("alpha"), call("beta")],
          fallbackUsed: true,
          ...asked(2, 200)
        })
        yield* settle(id(3), {
          provider: "alpha",
          attempts: [call("alpha"), call("alpha")],
          errorType: "provider_error",
          keyId: "key_b",
          ...asked(3, 502)
        })
        yield* settle(id(4), { provider: "beta", cacheHit: true, model: "m/two", ownerId: "usr_1", ...at(4) })
        yield* settle(id(5), { provider: "beta", cancelled: true, attempts: [call("beta")], ...asked(5, 499) })
        const found = (query: Partial<GenerationQuery>) =>
          Effect.map(generationStore.list({ keyId: null, limit: 10, cursor: null, ...query }), ({ generations }) =>
            generations.map((one) => Number(one.id.slice(-2)))
          )
        assert.deepStrictEqual(yield* found({ attempted: "alpha" }), [3, 2, 1])
        assert.deepStrictEqual(yield* found({ attempted: "gamma" }), [2])
        assert.deepStrictEqual(yield* found({ attempted: "beta" }), [5, 4, 2])
        assert.deepStrictEqual(yield* found({ attempted: "alpha", limit: 1, cursor: id(3) }), [2])
        assert.deepStrictEqual(yield* found({ attempted: "alpha", fromMs: T0 + 1, toMs: T0 + 2 }), [2])
        assert.deepStrictEqual(yield* found({ attempted: "alpha", keyId: "key_b" }), [3])
        assert.deepStrictEqual(yield* found({ attempted: "delta" }), [])
        assert.deepStrictEqual(yield* found({ status: 200 }), [2, 1])
        assert.deepStrictEqual(yield* found({ status: 502 }), [3])
        assert.deepStrictEqual(yield* found({ status: 499 }), [5])
        assert.deepStrictEqual(yield* found({ requestId: "req_2" }), [2])
        assert.deepStrictEqual(yield* found({ id: id(4) }), [4])
        assert.deepStrictEqual(yield* found({ fallbackUsed: true }), [2])
        assert.deepStrictEqual(yield* found({ cacheHit: true }), [4])
        assert.deepStrictEqual(yield* found({ cancelled: true }), [5])
        assert.deepStrictEqual(yield* found({ cancelled: false, error: "none" }), [4, 2, 1])
        const nothing = { models: [], keyIds: [], ownerIds: [], requestIds: [] }
        assert.deepStrictEqual(yield* found({ among: nothing }), [])
        assert.deepStrictEqual(yield* found({ among: { ...nothing, models: ["m/two"], ownerIds: ["usr_1"] } }), [4])
        const among = { models: ["m/two", "none"], keyIds: ["key_b"], ownerIds: [], requestIds: ["req_1"] }
        assert.deepStrictEqual(yield* found({ among }), [4, 3, 1])
        assert.deepStrictEqual(yield* found({ among, error: "any" }), [3])
        assert.deepStrictEqual(yield* found({ among, limit: 1, cursor: id(4) }), [3])

        // An old generation takes its attempts with it.
        yield* generationStore.deleteBefore(T0 + 2, 10)
        assert.deepStrictEqual(yield* found({ attempted: "alpha" }), [3])
      })
    )
  })

  layer(ledger, { timeout: "60 seconds" })(`${name}: the dearest and the slowest`, (it) => {
    it.effect("come first, of those that match, in the archive too", () =>
      Effect.gen(function* () {
        const generationStore = yield* GenerationStore
        const january = Date.UTC(2026, 0, 5)
        const made = [
          [1, 70, 5],
          [2, 10, 40],
          [3, 50, 30],
          [4, 50, 1]
        ] as const
        for (const [nth, billedNano, latencyMs] of made) {
          const createdAtMs = january + nth
          const id = `${idBound("gen", createdAtMs)}${String(nth).padStart(20, "0")}`
          yield* settle(id, { createdAtMs, latencyMs, keyId: nth === 3 ? "key_b" : "key_a" }, billedNano)
        }
        const top = (by: "cost" | "latency", query: Partial<GenerationQuery> = {}) =>
          Effect.map(generationStore.top({ keyId: null, limit: 10, ...query }, by), (found) =>
            found.map((one) => Number(one.id.slice(-2)))
          )
        const check = Effect.gen(function* () {
          assert.deepStrictEqual(yield* top("cost"), [1, 4, 3, 2])
          assert.deepStrictEqual(yield* top("cost", { limit: 2 }), [1, 4])
          assert.deepStrictEqual(yield* top("latency"), [2, 3, 1, 4])
          assert.deepStrictEqual(yield* top("latency", { keyId: "key_a", fromMs: january + 2 }), [2, 4])
          assert.deepStrictEqual(yield* top("cost", { keyId: "key_none" }), [])
        })
        yield* check
        assert.strictEqual(yield* generationStore.archive(january + 3, 10), 2)
        yield* check
      })
    )
  })

  layer(ledger, { timeout: "60 seconds" })(`${name}: series`, (it) => {
    it.effect("sums up each bucket that has a generation", () =>
      Effect.gen(function* () {
        const ledgerReports = yield* LedgerReports
        const span = { fromMs: T0, toMs: T0 + 3 * MINUTE, bucketMs: MINUTE }
        assert.deepStrictEqual(yield* ledgerReports.series(span), [])
        yield* settle("gen_0", { createdAtMs: T0 - 1 })
        yield* settle("gen_1", { createdAtMs: T0, latencyMs: 10, timeToFirstTokenMs: 4 }, 5)
        yield* settle(
          "gen_2",
          { createdAtMs: T0 + 1, latencyMs: 20, timeToFirstTokenMs: null, errorType: "timeout" },
          0
        )
        yield* settle(
          "gen_3",
          { createdAtMs: T0 + 2, usageSource: "estimated", latencyMs: 9_999, errorType: "lost" },
          7
        )
        yield* settle("gen_4", { createdAtMs: T0 + 3, latencyMs: 30, timeToFirstTokenMs: 8, errorType: "timeout" }, 0)
        yield* settle(
          "gen_5",
          {
            createdAtMs: T0 + 3 * MINUTE - 1,
            cacheHit: true,
            usageSource: "cache",
            latencyMs: 1,
            timeToFirstTokenMs: null,
            cost: { ...zeroCost, completionNano: 9, cacheDiscountNano: 9 }
          },
          0
        )
        yield* settle("gen_6", { createdAtMs: T0 + 3 * MINUTE })
        const [first, second, ...more] = yield* ledgerReports.series(span)
        assert.deepStrictEqual(more, [])
        const figures = (bucket: LedgerBucket | undefined) => ({ ...bucket, latencyMs: null, timeToFirstTokenMs: null })
        assert.deepStrictEqual(figures(first), {
          startMs: T0,
          requests: 4,
          errors: { lost: 1, timeout: 2 },
          cacheHits: 0,
          promptTokens: 40,
          completionTokens: 80,
          billedNano: 12,
          savedNano: 0,
          latencyMs: null,
          timeToFirstTokenMs: null
        })
        assert.closeTo(first?.latencyMs?.p50 ?? 0, 20, 1e-6)
        assert.closeTo(first?.latencyMs?.p95 ?? 0, 29, 1e-6)
        assert.closeTo(first?.timeToFirstTokenMs?.p50 ?? 0, 4, 1e-6)
        assert.deepStrictEqual(second, {
          startMs: T0 + 2 * MINUTE,
          requests: 1,
          errors: {},
          cacheHits: 1,
          promptTokens: 10,
          completionTokens: 20,
          billedNano: 0,
          savedNano: 9,
          latencyMs: { p50: 1, p95: 1, p99: 1 },
          timeToFirstTokenMs: null
        })
      })
    )
  })
}

on("Memory", Layer.fresh(LedgerMemory.layer))
on("The embedded database", Layer.fresh(LedgerSql.layer).pipe(Layer.provide(Layer.fresh(layerPglite))))
on("Postgres", Layer.fresh(LedgerSql.layer).pipe(Layer.provide(Layer.fresh(layerPostgres))))
