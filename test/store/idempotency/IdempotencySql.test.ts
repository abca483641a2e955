/**
 * Groups of idempotency keys in a real Postgres: several processes, faulty entries, a database that
 * is away.
 */
import { assert, it } from "@effect/vitest"
import { SqlClient } from "effect/sql"
import { Context, Effect, Exit, Layer, Redacted, Schedule } from "effect"
import * as IdempotencySql from "../../../src/store/idempotency/IdempotencySql.ts"
import { type Claim, IdempotencyStore } from "../../../src/store/idempotency/IdempotencyStore.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { freshDatabase } from "../../support/Postgres.ts"
import { proxyTo } from "../sql/databaseProxy.ts"

const T0 = Date.UTC(2026, 10, 23)
const DAY = 86_400_000
const all = { concurrency: "unbounded" } as const

const claimOf = (id: string, holder: string): Claim => ({
  id,
  holder,
  fingerprint: `print of ${id}`,
  nowMs: T0,
  leaseUntilMs: T0 + 150_000,
  expiresAtMs: T0 + DAY
})

const storeOn = (url: Redacted.Redacted) =>
  Effect.map(
    Layer.build(Layer.fresh(IdempotencySql.layer.pipe(Layer.provide(Sql.layerPostgres({ url, maxConnections: 4 }))))),
    (context) => Context.get(context, IdempotencyStore)
  )

it.live("no two requests of several processes ever hold one key, and none of their groups deadlocks", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const processes = yield* Effect.forEach([0, 1, 2, 3], () => storeOn(url))
    const ids = Array.from({ length: 40 }, (_, at) => `key_${at}`)
    const holders = new Map<string, string>()
    const completed = new Map<string, string>()
    let granted = 0
    /**
     * A request: it holds the key for as long as its ending takes, and every third stores a reply.
     */
    const request = (store: IdempotencyStore["Service"], id: string, holder: string, at: number) =>
      Effect.gen(function* () {
        const claim = claimOf(id, holder)
        const result = yield* store.claim(claim)
        if (result._tag === "Completed") {
          assert.strictEqual(Buffer.from(result.reply).toString(), completed.get(id))
          return
        }
        if (result._tag === "Running") return
        granted++
        assert.isFalse(holders.has(id), `${id} is held by ${holders.get(id)} and by ${holder}`)
        assert.isFalse(completed.has(id), `${id} ran after its reply was stored`)
        holders.set(id, holder)
        assert.strictEqual((yield* store.claim({ ...claim, holder: `${holder}_again` }))._tag, "Running")
        holders.delete(id)
        if (at % 3 !== 0) return yield* store.release(claim)
        completed.set(id, holder)
        yield* store.complete(claim, Buffer.from(holder), T0 + DAY)
      })
    const requests = processes.flatMap((store, process) =>
      Array.from({ length: 12 }, (_, round) =>
        // Each process and round has another order of the keys.
        ids.map((_, at) => {
          const id = ids[(at * (process * 2 + 7) + round * 11) % ids.length] ?? ""
          return request(store, id, `gen_${process}_${round}_${at}`, at + process + round)
        })
      ).flat()
    )
    yield* Effect.all(requests, all)
    assert.isAtLeast(granted, ids.length)
    assert.strictEqual(holders.size, 0)
    for (const id of ids) {
      const { _tag } = yield* (processes[0] ?? (yield* Effect.die("none"))).claim(claimOf(id, "gen_last"))
      assert.strictEqual(_tag, completed.has(id) ? "Completed" : "Claimed")
    }
  }).pipe(Effect.scoped)
)

it.live("an entry that cannot be written fails alone, among claims and among completions", () =>
  Effect.gen(function* () {
    const store = yield* storeOn(yield* freshDatabase)
    const claims = Array.from({ length: 9 }, (_, at) => claimOf(`key_${at}`, `gen_${at}`))
    const broken = (at: number) => at === 4
    const claimed = yield* Effect.forEach(
      claims,
      (claim, at) => Effect.exit(store.claim(broken(at) ? { ...claim, expiresAtMs: Number.NaN } : claim)),
      all
    )
    for (const [at, exit] of claimed.entries()) {
      assert.strictEqual(Exit.isSuccess(exit), !broken(at))
      assert.strictEqual(Exit.hasDies(exit), broken(at))
    }
    const reply = Buffer.from("reply")
    const ended = yield* Effect.forEach(
      claims,
      (claim, at) => Effect.exit(store.complete(claim, reply, at === 5 ? 0.5 : T0 + DAY)),
      all
    )
    for (const [at, exit] of ended.entries()) assert.strictEqual(Exit.isSuccess(exit), at !== 5)
    const found = yield* Effect.forEach(claims, (claim) => store.claim({ ...claim, holder: "gen_late" }), all)
    const tags = found.map(({ _tag }, at) => [at, _tag])
    assert.deepStrictEqual(
      tags,
      claims.map((_, at) => [at, at === 4 ? "Claimed" : at === 5 ? "Running" : "Completed"])
    )
  }).pipe(Effect.scoped)
)

it.live("claims of one key in one process are answered one by one, and only the first gets it", () =>
  Effect.gen(function* () {
    const store = yield* storeOn(yield* freshDatabase)
    const tags = yield* Effect.forEach(
      Array.from({ length: 300 }, (_, at) => claimOf("key", `gen_${at}`)),
      (claim) => Effect.map(store.claim(claim), ({ _tag }) => _tag),
      all
    )
    assert.deepStrictEqual(tags.slice(0, 2), ["Claimed", "Running"])
    assert.lengthOf(
      tags.filter((tag) => tag === "Claimed"),
      1
    )
  }).pipe(Effect.scoped)
)

it.live("a database that is away fails claims and endings with the error of a store", () =>
  Effect.gen(function* () {
    const proxy = yield* proxyTo(new URL(Redacted.value(yield* freshDatabase)))
    const store = yield* storeOn(Redacted.make(proxy.url.href))
    const claim = claimOf("key", "gen_1")
    yield* store.claim(claim)
    yield* proxy.down
    const failures = yield* Effect.all(
      [
        Effect.flip(store.claim(claimOf("key_2", "gen_2"))),
        Effect.flip(store.complete(claim, Buffer.from("reply"), T0 + DAY)),
        Effect.flip(store.release(claimOf("key_3", "gen_3")))
      ],
      all
    )
    for (const { dependency } of failures) assert.strictEqual(dependency, "database")
    yield* proxy.up
    yield* Effect.retry(store.complete(claim, Buffer.from("reply"), T0 + DAY), Schedule.spaced("20 millis"))
    assert.strictEqual((yield* store.claim({ ...claim, holder: "gen_late" }))._tag, "Completed")
  }).pipe(Effect.scoped)
)

it.live("claims and completions that come at once are written by few statements", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const sql = Context.get(yield* Layer.build(Layer.fresh(Sql.layerPostgres({ url }))), SqlClient.SqlClient)
    const store = yield* storeOn(url)
    const claims = Array.from({ length: 64 }, (_, at) => claimOf(`key_${at}`, `gen_${at}`))
    // Rows of one statement have one transaction's number.
    const statements = Effect.map(
      sql<{ readonly count: number }>`SELECT count(DISTINCT xmin::text) AS count FROM idempotency_keys`,
      ([row]) => row?.count
    )
    yield* Effect.forEach(claims, store.claim, all)
    assert.isAtMost((yield* statements) ?? Infinity, 8)
    yield* Effect.forEach(claims, (claim) => store.complete(claim, Buffer.from("reply"), T0 + DAY), all)
    assert.isAtMost((yield* statements) ?? Infinity, 8)
  }).pipe(Effect.scoped)
)
