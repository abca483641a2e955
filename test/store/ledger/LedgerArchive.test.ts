/**
 * Archived generations: reads and writes behave as before, and are never blocked while rows move or
 * are deleted.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Option, Ref } from "effect"
import { TestClock } from "effect/testing"
import { type Generation } from "../../../src/domain/Generation.ts"
import { idBound } from "../../../src/domain/Ids.ts"
import { monthOf } from "../../../src/domain/pricing/Money.ts"
import { LedgerReports } from "../../../src/store/ledger/reports/LedgerReports.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import { type GenerationQuery } from "../../../src/store/ledger/GenerationStore.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { freshDatabase, layerPostgres } from "../../support/Postgres.ts"
import { Audit } from "./LedgerAudit.ts"
import { makeGeneration } from "./makeGeneration.ts"

const DAY = 86_400_000
const JANUARY = Date.UTC(2024, 0, 1)
const FEBRUARY = Date.UTC(2024, 1, 1)
const MARCH = Date.UTC(2024, 2, 1)

let count = 0
const settle = (createdAtMs: number, overrides: Partial<Generation> = {}, billedNano = 10) =>
  Effect.gen(function* () {
    const id = `${idBound("gen", createdAtMs)}${String(++count).padStart(20, "0")}`
    const generation = makeGeneration({ id, createdAtMs, ...overrides }, billedNano)
    yield* (yield* Ledger).settle(generation, monthOf(createdAtMs))
    return generation
  })

/** All pages of a list. */
const listed = (query: Partial<GenerationQuery>, limit = 3) =>
  Effect.gen(function* () {
    const generationStore = yield* GenerationStore
    const all: Array<Generation> = []
    let cursor: string | null = null
    do {
      const { generations, nextCursor }: { generations: ReadonlyArray<Generation>; nextCursor: string | null } =
        yield* generationStore.list({ keyId: null, limit, cursor, ...query })
      all.push(...generations)
      cursor = nextCursor
    } while (cursor !== null)
    return all
  })

const archiveAll = (beforeMs: number, limit = 500) =>
  Effect.flatMap(GenerationStore, (store) => store.archive(beforeMs, limit)).pipe(
    Effect.repeat({ while: (moved) => moved > 0 }),
    Effect.asVoid
  )

/** The results of every query about some generations. */
const answers = (made: ReadonlyArray<Generation>) =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const ledgerReports = yield* LedgerReports
    const generationStore = yield* GenerationStore
    const span = { fromMs: JANUARY, toMs: MARCH + 31 * DAY, bucketMs: 7 * DAY }
    const days = { fromDay: JANUARY / DAY, toDay: MARCH / DAY + 31, limit: 100 }
    return {
      found: yield* Effect.forEach(made, ({ id, keyId }) => generationStore.find(id, keyId)),
      byOwner: yield* Effect.forEach(made.slice(0, 4), ({ id }) => generationStore.find(id, null, "usr_1")),
      byOther: yield* Effect.forEach(made.slice(0, 4), ({ id }) => generationStore.find(id, "key_other")),
      all: yield* listed({}),
      whole: yield* listed({}, 1_000),
      ofKey: yield* listed({ keyId: "key_a" }),
      ofOwner: yield* listed({ ownerId: "usr_1" }),
      ofModel: yield* listed({ model: "m/rare" }),
      ofProvider: yield* listed({ provider: "beta", error: "none" }),
      failed: yield* listed({ error: "any" }),
      timedOut: yield* listed({ error: "timeout", keyId: "key_b" }),
      attempted: yield* listed({ attempted: "gamma" }),
      answeredLast: yield* listed({ attempted: "beta" }),
      unavailable: yield* listed({ status: 503 }),
      ofRequest: yield* listed({ requestId: "req_3" }),
      fallen: yield* listed({ fallbackUsed: true, cancelled: false }),
      among: yield* listed({
        among: { models: ["m/rare"], keyIds: [], ownerIds: ["usr_1"], requestIds: ["req_1", "req_15"] }
      }),
      ofTime: yield* listed({ fromMs: JANUARY + 20 * DAY, toMs: FEBRUARY + 10 * DAY }),
      series: yield* ledgerReports.series(span),
      report: yield* ledgerReports.report({
        keyId: null,
        ownerId: null,
        groupBy: ["day", "model", "key", "owner"],
        ...days
      }),
      balances: yield* Effect.forEach(["2024-01", "2024-02", "2024-03"], (month) =>
        ledger.balances(["key_a", "key_b"], month)
      )
    }
  })

/**
 * The generations of these tests are old by then. The time is set before connections exist, because
 * these have timers.
 */
const later = <A, E>(stores: Layer.Layer<A, E>) =>
  Layer.unwrap(Effect.as(TestClock.setTime(MARCH + 40 * DAY), Layer.fresh(stores)))

const on = <E>(name: string, stores: Layer.Layer<Ledger | LedgerReports | GenerationStore | Audit, E>) => {
  layer(later(stores), { timeout: "60 seconds" })(name, (it) => {
    it.effect("archived generations are read as before, by id, in lists across the boundary, in series and sums", () =>
      Effect.gen(function* () {
        const generationStore = yield* GenerationStore
        const made = yield* Effect.forEach(Array.from({ length: 16 }), (_, nth) =>
          settle(JANUARY + nth * 5.5 * DAY, {
            keyId: nth % 2 === 0 ? "key_a" : "key_b",
            ownerId: nth % 3 === 0 ? "usr_1" : null,
            model: nth % 5 === 0 ? "m/rare" : "mock/echo",
            provider: nth % 4 === 0 ? "beta" : "mock",
            errorType: nth % 7 === 1 ? "timeout" : null,
            timeToFirstTokenMs: null,
            fallbackUsed: nth % 3 === 1,
            request: { id: `req_${nth}`, endpoint: "POST /v1/embeddings", status: nth % 7 === 1 ? 503 : 200 },
            attempts: ["gamma", "mock"].slice(nth % 3 === 1 ? 0 : 1).map((provider) => ({
              provider,
              model: "mock/echo",
              status: "ok",
              latencyMs: 1,
              errorType: null,
              httpStatus: 200
            }))
          })
        )
        const before = yield* answers(made)
        assert.deepStrictEqual(
          before.all.map(({ id }) => id),
          made.map(({ id }) => id).toReversed()
        )
        const { among, answeredLast, attempted, fallen, ofRequest, unavailable } = before
        assert.deepStrictEqual(
          [among, answeredLast, attempted, fallen, ofRequest, unavailable].map(({ length }) => length),
          [9, 4, 5, 5, 1, 3]
        )
        assert.strictEqual(yield* generationStore.archive(JANUARY, 3), 0)
        assert.strictEqual(yield* generationStore.archive(FEBRUARY + 15 * DAY, 3), 3)
        assert.deepStrictEqual(yield* answers(made), before)
        yield* archiveAll(FEBRUARY + 15 * DAY, 3)
        assert.strictEqual(yield* generationStore.archive(FEBRUARY + 15 * DAY, 3), 0)
        assert.deepStrictEqual(yield* answers(made), before)
        // A generation that began long ago and ends now is older than some archived ones.
        const late = yield* settle(JANUARY + DAY, { keyId: "key_a" })
        assert.strictEqual((yield* listed({ keyId: "key_a" })).at(-2)?.id, late.id)
        yield* archiveAll(MARCH + 31 * DAY)
        const all = yield* answers(made)
        assert.deepStrictEqual([all.found, all.ofKey.length], [before.found, before.ofKey.length + 1])
        assert.deepStrictEqual(yield* (yield* Audit).differences, [])
      })
    )

    it.effect("an archived generation cannot be settled, reserved or extended, while the others of its group can", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = `key_again_${++count}`
        const old = yield* settle(JANUARY + DAY, { keyId })
        yield* archiveAll(FEBRUARY)
        const reservation = {
          generationId: old.id,
          keyId,
          ownerId: null,
          model: "mock/echo",
          month: "2024-01",
          amountNano: 100,
          capNano: 1_000,
          createdAtMs: JANUARY + DAY,
          leaseMs: DAY,
          processId: "process"
        }
        const other = `${idBound("gen", JANUARY + DAY)}${String(++count).padStart(20, "0")}`
        const results = yield* Effect.all(
          [
            ledger.reserve(reservation),
            ledger.reserve({ ...reservation, generationId: other }),
            ledger.reserve({ ...reservation, generationId: `${other}x`, amountNano: 2_000 })
          ],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          results.map(({ _tag }) => _tag),
          ["Reserved", "Reserved", "Refused"]
        )
        yield* Effect.all([ledger.settle({ ...old, latencyMs: 1 }, "2024-01"), ledger.void(old.id)], {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(yield* ledger.extend(old.id, 5, null), {
          _tag: "Refused",
          balance: { spentNano: 10, reservedNano: 100 }
        })
        assert.strictEqual((yield* ledger.extend(other, 5, null))._tag, "Reserved")
        assert.deepStrictEqual((yield* ledger.balances([keyId], "2024-01")).get(keyId), {
          spentNano: 10,
          reservedNano: 105
        })
        assert.deepStrictEqual(
          yield* generationStore.find(old.id, keyId),
          Option.some({ _tag: "Settled", generation: old })
        )
        yield* ledger.settle(makeGeneration({ id: other, keyId, createdAtMs: JANUARY + DAY }, 7), "2024-01")
        assert.strictEqual((yield* listed({ keyId })).length, 2)
        assert.deepStrictEqual(yield* (yield* Audit).differences, [])
      })
    )

    it.effect("an archived replay is not stored again, and one of its group that does not fit is refused", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = `key_replayed_${++count}`
        const old = yield* settle(JANUARY + DAY, { keyId, cacheHit: true }, 0)
        yield* archiveAll(FEBRUARY)
        const another = (nth: number) => ({ ...old, id: `${old.id.slice(0, -1)}${nth}x` })
        const results = yield* Effect.all(
          [
            ledger.replay({ ...old, latencyMs: 1 }, "2024-01", 100, 50),
            ledger.replay(another(1), "2024-01", 100, 50),
            ledger.replay(another(2), "2024-01", 50, 50)
          ],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(results, [
          { _tag: "Reserved" },
          { _tag: "Refused", balance: { spentNano: 0, reservedNano: 0 } },
          { _tag: "Reserved" }
        ])
        assert.deepStrictEqual(
          yield* generationStore.find(old.id, keyId),
          Option.some({ _tag: "Settled", generation: old })
        )
        assert.strictEqual((yield* listed({ keyId })).length, 2)
        assert.deepStrictEqual(yield* (yield* Audit).differences, [])
      })
    )

    it.effect("archived generations are deleted by whole months after their end; sums and counters stay", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = `key_gone_${++count}`
        const made = yield* Effect.forEach([0, 30, 31, 59, 60, 61], (day) => settle(JANUARY + day * DAY, { keyId }))
        const ids = Effect.map(listed({ keyId }), (all) => all.map(({ id }) => id))
        const left = (from: number) =>
          made
            .slice(from)
            .map(({ id }) => id)
            .toReversed()
        const counters = yield* ledger.balances([keyId], "2024-01")
        // Several months at once.
        assert.isAtLeast(yield* generationStore.archive(MARCH, 100), 4)
        assert.strictEqual(yield* generationStore.archive(MARCH, 100), 0)
        // This one is not archived and is deleted directly.
        assert.strictEqual(yield* generationStore.deleteBefore(MARCH + 1, 100), 1)
        assert.deepStrictEqual(yield* ids, [...left(5), ...left(0).slice(2)])
        yield* generationStore.deleteArchivedBefore(FEBRUARY - 1)
        assert.strictEqual((yield* ids).length, 5)
        yield* generationStore.deleteArchivedBefore(FEBRUARY)
        assert.deepStrictEqual(yield* ids, [...left(5), ...left(2).slice(2)])
        assert.isTrue(Option.isNone(yield* generationStore.find(made[0]?.id ?? "", keyId)))
        yield* generationStore.deleteArchivedBefore(MARCH)
        assert.deepStrictEqual(yield* ids, left(5))
        assert.deepStrictEqual(yield* ledger.balances([keyId], "2024-01"), counters)
        // A deleted month can be created again.
        const again = yield* settle(JANUARY, { keyId })
        yield* archiveAll(FEBRUARY)
        assert.deepStrictEqual(yield* ids, [...left(5), again.id])
      })
    )
  })
}

const stored = Layer.merge(LedgerSql.layer, Audit.layer)
on("Memory", Layer.merge(LedgerMemory.layer, Audit.layerNone))
on("The embedded database", stored.pipe(Layer.provide(Layer.fresh(layerPglite))))
on("Postgres", stored.pipe(Layer.provide(Layer.fresh(layerPostgres))))

/** A process with its own two connections to the database. */
const process = (url: Effect.Success<typeof freshDatabase>) =>
  Layer.build(later(stored.pipe(Layer.provideMerge(Sql.layerPostgres({ url, maxConnections: 2 })))))

const partitions = Effect.flatMap(PgClient.PgClient, (sql) =>
  Effect.map(
    sql<{ readonly name: string }>`SELECT inhrelid::regclass::text AS name FROM pg_inherits
      WHERE inhparent = 'generations_archive'::regclass ORDER BY 1`,
    (rows) => rows.map(({ name }) => name)
  )
)
const isHot = (id: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) =>
    Effect.map(sql`SELECT 1 FROM generations WHERE id = ${id}`, (rows) => rows.length === 1)
  )

const onPostgres = later(stored.pipe(Layer.provideMerge(Layer.fresh(layerPostgres))))

it.effect("moving a batch blocks no one, and each generation is seen once", () =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const generationStore = yield* GenerationStore
    const sql = yield* PgClient.PgClient
    const keyId = "key_busy"
    const made = yield* Effect.forEach([0, 1, 2, 3], (day) => settle(JANUARY + day * DAY, { keyId }))
    const moved = yield* Deferred.make<number>()
    const isEnough = yield* Deferred.make<void>()
    // The transaction stays open, with its partitions created and its rows moved.
    const moving = yield* Effect.forkChild(
      sql.withTransaction(
        generationStore.archive(FEBRUARY, 2).pipe(
          Effect.tap((rows) => Deferred.succeed(moved, rows)),
          Effect.andThen(Deferred.await(isEnough))
        )
      )
    )
    assert.strictEqual(yield* Deferred.await(moved), 2)
    const now = MARCH + 40 * DAY
    const generationId = `${idBound("gen", now)}${String(++count).padStart(20, "0")}`
    yield* ledger.reserve({
      generationId,
      keyId,
      ownerId: null,
      model: "mock/echo",
      month: monthOf(now),
      amountNano: 100,
      capNano: 1_000,
      createdAtMs: now,
      leaseMs: DAY,
      processId: "process"
    })
    yield* ledger.settle(makeGeneration({ id: generationId, keyId, createdAtMs: now }, 10), monthOf(now))
    assert.strictEqual((yield* listed({ keyId })).length, 5)
    assert.isTrue(Option.isSome(yield* generationStore.find(made[0]?.id ?? "", keyId)))
    assert.strictEqual(yield* generationStore.archive(FEBRUARY, 2), 0)
    yield* generationStore.deleteArchivedBefore(FEBRUARY)
    // Deletion skips the moving rows.
    assert.strictEqual(yield* generationStore.deleteBefore(JANUARY + 3 * DAY, 10), 1)
    yield* Deferred.succeed(isEnough, undefined)
    yield* Fiber.join(moving)
    assert.deepStrictEqual(
      (yield* listed({ keyId })).map(({ createdAtMs }) => createdAtMs),
      [now, JANUARY + 3 * DAY, JANUARY + DAY, JANUARY]
    )
    assert.strictEqual(yield* generationStore.archive(FEBRUARY, 10), 1)
  }).pipe(Effect.provide(onPostgres))
)

it.effect("a process that dies midway has moved nothing", () =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const generationStore = yield* GenerationStore
    const made = yield* settle(JANUARY)
    const moved = yield* Deferred.make<number>()
    const dying = yield* Effect.forkChild(
      Effect.exit(
        sql.withTransaction(
          Effect.gen(function* () {
            assert.strictEqual(yield* generationStore.archive(FEBRUARY, 10), 1)
            const [row] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
            yield* Deferred.succeed(moved, row?.pid ?? 0)
            return yield* Effect.never
          })
        )
      )
    )
    const pid = yield* Deferred.await(moved)
    yield* sql`SELECT pg_terminate_backend(${pid}::int, 5000)`
    yield* Fiber.interrupt(dying)
    assert.deepStrictEqual([yield* isHot(made.id), yield* partitions], [true, []])
    assert.deepStrictEqual(yield* listed({}), [made])
    // The lock ended with the process.
    assert.strictEqual(yield* generationStore.archive(FEBRUARY, 10), 1)
    assert.isFalse(yield* isHot(made.id))
    assert.deepStrictEqual(yield* listed({}), [made])
  }).pipe(Effect.provide(onPostgres))
)

it.effect("a month that is being read is kept for now, and its deletion blocks no one", () =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const generationStore = yield* GenerationStore
    const [january, february] = [yield* settle(JANUARY), yield* settle(FEBRUARY)]
    yield* archiveAll(MARCH - DAY)
    assert.deepStrictEqual(yield* partitions, ["generations_2024_01", "generations_2024_02", "generations_2024_03"])
    const reads = yield* Deferred.make<void>()
    const isEnough = yield* Deferred.make<void>()
    const reading = yield* Effect.forkChild(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT count(*) FROM generations_archive`
          yield* Deferred.succeed(reads, undefined)
          yield* Deferred.await(isEnough)
        })
      )
    )
    yield* Deferred.await(reads)
    yield* generationStore.deleteArchivedBefore(MARCH)
    assert.deepStrictEqual(yield* listed({}), [february, january])
    // Nor does a new month wait.
    const older = yield* settle(JANUARY - 1)
    yield* archiveAll(JANUARY)
    assert.isFalse(yield* isHot(older.id))
    yield* Deferred.succeed(isEnough, undefined)
    yield* Fiber.join(reading)
    yield* generationStore.deleteArchivedBefore(FEBRUARY)
    assert.deepStrictEqual(yield* partitions, ["generations_2024_02", "generations_2024_03"])
    assert.deepStrictEqual(yield* listed({}), [february])
  }).pipe(Effect.provide(onPostgres))
)

it.effect("an id is searched for only in the partition of its month", () =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const made = yield* Effect.forEach([JANUARY, FEBRUARY, MARCH], (createdAtMs) => settle(createdAtMs))
    yield* archiveAll(MARCH + DAY)
    const plan = yield* sql<Readonly<Record<string, string>>>`EXPLAIN
      SELECT * FROM generations_archive WHERE id = ${made[1]?.id} AND key_id = coalesce(${null}::text, key_id)`
    const text = plan.map((row) => row["QUERY PLAN"]).join("\n")
    assert.include(text, "generations_2024_02")
    assert.notInclude(text, "generations_2024_01")
    assert.notInclude(text, "generations_2024_03")
  }).pipe(Effect.provide(onPostgres))
)

it.effect("several processes move each generation once, while others read, pay and delete", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const processes = yield* Effect.all([process(url), process(url), process(url), process(url)])
    const [first] = processes
    if (first === undefined) return assert.fail("no process")
    const made = yield* Effect.forEach(Array.from({ length: 300 }), (_, nth) => settle(JANUARY + nth * 0.3 * DAY), {
      concurrency: "unbounded"
    }).pipe(Effect.provide(first))
    const isOver = yield* Ref.make(false)
    // A list that misses a generation or shows one twice would differ.
    const reader = yield* Effect.forkChild(
      Effect.gen(function* () {
        let looks = 0
        while (!(yield* Ref.get(isOver))) {
          assert.strictEqual((yield* listed({ toMs: MARCH + 31 * DAY }, 1_000)).length, made.length)
          looks++
        }
        return looks
      }).pipe(Effect.provide(first))
    )
    const writer = yield* Effect.forkChild(
      Effect.gen(function* () {
        let writes = 0
        while (!(yield* Ref.get(isOver))) yield* settle(MARCH + 31 * DAY + writes++)
        return writes
      }).pipe(Effect.provide(first))
    )
    const moved = yield* Effect.forEach(
      processes,
      (one) =>
        Effect.gen(function* () {
          const generations = Context.get(one, GenerationStore)
          const sql = Context.get(one, PgClient.PgClient)
          let total = 0
          const left = sql`SELECT 1 FROM generations WHERE created_at_ms < ${MARCH + 31 * DAY} LIMIT 1`
          while ((yield* left).length > 0) total += yield* generations.archive(MARCH + 31 * DAY, 20)
          return total
        }),
      { concurrency: "unbounded" }
    ).pipe(Effect.ensuring(Ref.set(isOver, true)))
    const [looks, writes] = [yield* Fiber.join(reader), yield* Fiber.join(writer)]
    assert.strictEqual(
      moved.reduce((a, b) => a + b, 0),
      made.length
    )
    assert.isAbove(looks, 0)
    assert.isAbove(writes, 0)
    const gone = yield* Effect.exit(
      Effect.forEach(processes, (one) => Context.get(one, GenerationStore).deleteArchivedBefore(MARCH), {
        concurrency: "unbounded"
      })
    )
    assert.isTrue(Exit.isSuccess(gone))
    assert.deepStrictEqual(
      (yield* Effect.provide(listed({ toMs: MARCH + 31 * DAY }), first)).map(({ id }) => id),
      made
        .filter(({ createdAtMs }) => createdAtMs >= MARCH)
        .map(({ id }) => id)
        .toReversed()
    )
  })
)
