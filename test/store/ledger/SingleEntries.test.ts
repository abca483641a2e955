/**
 * The fast form of single entries: it decides the common case alone, writes what a group writes,
 * and sees what was committed while it waited for the counter.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schedule } from "effect"
import { groupParameters, type LedgerEntry } from "../../../src/store/ledger/Entry.ts"
import { Ledger, type Reservation } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { Audit } from "./LedgerAudit.ts"
import { makeGeneration } from "./makeGeneration.ts"
import { freshId, makeReservation, MONTH, T0 } from "./makeReservation.ts"

let count = 0

const settled = (id: string, keyId: string, billedNano = 40) =>
  makeGeneration({ id, keyId, ownerId: "usr_1", attempts: [], createdAtMs: T0 }, billedNano)

const replayed = (id: string, keyId: string) => ({
  ...settled(id, keyId, 0),
  cacheHit: true,
  usageSource: "cache" as const
})

/** One statement of a group, by another connection than the ledger's. */
const groupWrite = (sql: PgClient.PgClient, entries: ReadonlyArray<LedgerEntry>) => {
  const { asked, checked, settled, voided } = groupParameters(entries)
  return sql`SELECT * FROM ledger_write(${settled}::jsonb, ${voided}::text[], ${asked}::jsonb, ${checked}::jsonb)`
}

const balanceOf = Effect.fnUntraced(function* (keyId: string) {
  return (yield* (yield* Ledger).balances([keyId], MONTH)).get(keyId)
})

/** A key with a counter, which the first entry of a month makes. */
const freshKey = Effect.fnUntraced(function* () {
  const keyId = `key_${String(++count)}`
  const ledger = yield* Ledger
  const first = makeReservation(keyId, { amountNano: 0 })
  yield* ledger.reserve(first)
  yield* ledger.void(first.generationId)
  return keyId
})

const stores = Layer.merge(LedgerSql.layer, Audit.layer)

const onEach = <E>(name: string, database: Layer.Layer<PgClient.PgClient, E>) =>
  layer(stores.pipe(Layer.provideMerge(database)), { timeout: "60 seconds" })(`Single entries in ${name}`, (it) => {
    it.effect("leave the rows that a group leaves", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const sql = yield* PgClient.PgClient
        const [alone, grouped] = [yield* freshKey(), yield* freshKey()]
        const [one, other] = [makeReservation(alone), makeReservation(grouped)]
        yield* ledger.reserve(one)
        yield* groupWrite(sql, [{ _tag: "Reserve", reservation: other }])
        const reservations = yield* sql`SELECT owner_id, model, month, amount_nano, created_at_ms, process_id,
          extended_nano, progress FROM reservations WHERE generation_id IN (${one.generationId}, ${other.generationId})`
        assert.strictEqual(reservations.length, 2)
        assert.deepStrictEqual(reservations[0], reservations[1])

        yield* ledger.settle(settled(one.generationId, alone), MONTH)
        yield* groupWrite(sql, [{ _tag: "Settle", generation: settled(other.generationId, grouped), month: MONTH }])
        const [hit, otherHit] = [freshId(), freshId()]
        yield* ledger.replay(replayed(hit, alone), MONTH, 100, 1_000)
        yield* groupWrite(sql, [
          { _tag: "Replay", generation: replayed(otherHit, grouped), month: MONTH, amountNano: 100, capNano: 1_000 }
        ])
        const rowsOf = (table: "generations" | "usage_days" | "budget_counters", keyId: string) =>
          Effect.map(
            sql<{ readonly row: object }>`SELECT to_jsonb(t) - 'id' - 'key_id' AS row FROM ${sql.literal(table)} AS t
              WHERE key_id = ${keyId} ORDER BY 1`,
            (rows) => rows.map(({ row }) => row)
          )
        for (const [table, rows] of [
          ["generations", 2],
          ["usage_days", 1],
          ["budget_counters", 1]
        ] as const) {
          const mine = yield* rowsOf(table, alone)
          assert.strictEqual(mine.length, rows, table)
          assert.deepStrictEqual(mine, yield* rowsOf(table, grouped), table)
        }
        assert.deepStrictEqual(yield* (yield* Audit).differences, [])
      })
    )

    it.effect("decide the common case without the function of groups", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const sql = yield* PgClient.PgClient
        const keyId = yield* freshKey()
        const one = makeReservation(keyId)
        yield* sql`ALTER FUNCTION ledger_write RENAME TO ledger_write_away`
        assert.strictEqual((yield* ledger.reserve(one))._tag, "Reserved")
        yield* ledger.settle(settled(one.generationId, keyId), MONTH)
        assert.strictEqual((yield* ledger.replay(replayed(freshId(), keyId), MONTH, 100, 1_000))._tag, "Reserved")
        yield* ledger.settle(settled(freshId(), keyId, 7), MONTH)
        yield* sql`ALTER FUNCTION ledger_write_away RENAME TO ledger_write`
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 47, reservedNano: 0 })
        assert.deepStrictEqual(yield* (yield* Audit).differences, [])
      })
    )
  })

describe("Single entries", () => {
  onEach("the embedded database", layerPglite)
  onEach("Postgres", layerPostgres)

  layer(stores.pipe(Layer.provideMerge(layerPostgres)), { timeout: "60 seconds", excludeTestServices: true })(
    "race",
    (it) => {
      /**
       * `second` waits for the counter while `first` is not committed. Returns what `second` did.
       */
      const race = Effect.fnUntraced(function* <A, E>(
        first: Effect.Effect<unknown, unknown, PgClient.PgClient>,
        second: Effect.Effect<A, E>
      ) {
        const sql = yield* PgClient.PgClient
        const waits = Effect.repeat(
          sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          { schedule: Schedule.spaced("5 millis"), until: (rows) => rows.length > 0 }
        )
        const begun = yield* Deferred.make<void>()
        // Outside of the transaction, so that it has a connection of its own.
        const waiting = yield* Effect.forkChild(Effect.andThen(Deferred.await(begun), second))
        yield* sql.withTransaction(Effect.andThen(first, Effect.andThen(Deferred.succeed(begun, undefined), waits)))
        const result = yield* Fiber.join(waiting)
        assert.deepStrictEqual(yield* (yield* Audit).differences, [])
        return result
      })
      const grouped = (...entries: ReadonlyArray<LedgerEntry>) =>
        Effect.flatMap(PgClient.PgClient, (sql) => groupWrite(sql, entries))
      const lock = (keyId: string) =>
        Effect.flatMap(
          PgClient.PgClient,
          (sql) => sql`SELECT 1 FROM budget_counters WHERE key_id = ${keyId} FOR UPDATE`
        )

      it.effect("of a reservation with one that takes the room", () =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const keyId = yield* freshKey()
          const taken: LedgerEntry = { _tag: "Reserve", reservation: makeReservation(keyId, { amountNano: 901 }) }
          const result = yield* race(grouped(taken), ledger.reserve(makeReservation(keyId)))
          assert.deepStrictEqual(result, { _tag: "Refused", balance: { spentNano: 0, reservedNano: 901 } })
        })
      )

      it.effect("of a reservation with one of the same id, and with its settlement", () =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const keyId = yield* freshKey()
          const reservation = makeReservation(keyId)
          yield* race(grouped({ _tag: "Reserve", reservation }), ledger.reserve({ ...reservation, amountNano: 7 }))
          assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 0, reservedNano: 100 })
          const generation = settled(reservation.generationId, keyId)
          yield* race(grouped({ _tag: "Settle", generation, month: MONTH }), ledger.reserve(reservation))
          assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 40, reservedNano: 0 })
        })
      )

      it.effect("of a reservation with a lower cap", () =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const sql = yield* PgClient.PgClient
          const keyId = yield* freshKey()
          yield* sql`INSERT INTO api_keys (id, public_id, secret_hash, prefix, name, tier, scopes, state,
            monthly_budget_nano, created_at_ms, updated_at_ms)
          VALUES (${keyId}, ${keyId}, '', '', '', 'free', '{}', 'active', 1000, 0, 0)`
          const lowered = sql`UPDATE api_keys SET monthly_budget_nano = 99 WHERE id = ${keyId}`
          const result = yield* race(Effect.andThen(lock(keyId), lowered), ledger.reserve(makeReservation(keyId)))
          assert.strictEqual(result._tag, "Refused")
        })
      )

      it.effect("of a replay with a reservation that takes the room, and with one that gives it back", () =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const keyId = yield* freshKey()
          const taken = makeReservation(keyId, { amountNano: 901 })
          const replay = Effect.suspend(() => ledger.replay(replayed(freshId(), keyId), MONTH, 100, 1_000))
          const refused = yield* race(grouped({ _tag: "Reserve", reservation: taken }), replay)
          assert.deepStrictEqual(refused, { _tag: "Refused", balance: { spentNano: 0, reservedNano: 901 } })
          assert.strictEqual((yield* race(grouped({ _tag: "Void", id: taken.generationId }), replay))._tag, "Reserved")
        })
      )

      it.effect("of a settlement with a heartbeat, an extension, an expiry, a void and a settlement", () =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const sql = yield* PgClient.PgClient
          const raced = Effect.fnUntraced(function* (
            first: (reservation: Reservation) => Effect.Effect<unknown, unknown, PgClient.PgClient>
          ) {
            const keyId = yield* freshKey()
            const reservation = makeReservation(keyId, { leaseMs: -1 })
            yield* ledger.reserve(reservation)
            yield* race(first(reservation), ledger.settle(settled(reservation.generationId, keyId), MONTH))
            assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 40, reservedNano: 0 })
            const [row] = yield* sql`SELECT billed_nano, usage_source FROM generations WHERE key_id = ${keyId}`
            assert.deepStrictEqual(row, { billed_nano: 40, usage_source: "provider" })
          })
          yield* raced(
            ({ generationId }) =>
              sql`SELECT ledger_beat(${JSON.stringify([[generationId, null]])}::jsonb, 60000::bigint)`
          )
          yield* raced(({ generationId: id }) => grouped({ _tag: "Extend", id, amountNano: 30, capNano: 1_000 }))
          yield* raced(() => ledger.settleExpired)
          yield* raced(({ generationId: id }) => grouped({ _tag: "Void", id }))
          yield* raced(({ generationId, keyId }) =>
            grouped({ _tag: "Settle", generation: settled(generationId, keyId), month: MONTH })
          )
        })
      )

      it.effect("of a void, an extension and an expiry with a settlement", () =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const sql = yield* PgClient.PgClient
          const raced = Effect.fnUntraced(function* (second: (id: string) => Effect.Effect<unknown, unknown>) {
            const keyId = yield* freshKey()
            const { generationId } = yield* Effect.tap(
              Effect.succeed(makeReservation(keyId, { leaseMs: -1 })),
              ledger.reserve
            )
            const [values] = JSON.parse(
              groupParameters([{ _tag: "Settle", generation: settled(generationId, keyId), month: MONTH }]).settled
            ) as ReadonlyArray<unknown>
            const first = sql`SELECT ledger_settle_one(${JSON.stringify(values)}::jsonb, NULL, NULL) AS done`
            const result = yield* race(first, second(generationId))
            assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 40, reservedNano: 0 })
            return result
          })
          yield* raced(ledger.void)
          assert.deepInclude(yield* raced((id) => ledger.extend(id, 30, 1_000)), { _tag: "Refused" })
          assert.strictEqual(yield* raced(() => ledger.settleExpired), 0)
        })
      )
    }
  )
})
