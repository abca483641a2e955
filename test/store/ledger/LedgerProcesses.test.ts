/**
 * Four processes on one Postgres, each with its own ledger and connections. Under concurrent calls
 * for the same keys, an observer never sees a key above its cap or a counter that differs from its
 * entries, and each request ends as a model of it says.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Option, Ref, Schema } from "effect"
import { idBound } from "../../../src/domain/Ids.ts"
import { type Generation } from "../../../src/domain/Generation.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger, type Reservation } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { freshDatabase } from "../../support/Postgres.ts"
import { Audit } from "./LedgerAudit.ts"
import { makeGeneration } from "./makeGeneration.ts"

const T0 = Date.UTC(2026, 10, 21, 12)
const MINUTE = 60_000
const CAP = 300

interface Process {
  readonly ledger: Ledger["Service"]
  readonly generations: GenerationStore["Service"]
  readonly audit: Audit["Service"]
  readonly sql: PgClient.PgClient
}

class Processes extends Context.Service<Processes, readonly [Process, Process, Process, Process]>()(
  "test/store/Processes"
) {
  static readonly layer = Layer.effect(
    Processes,
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const one = Effect.gen(function* () {
        const stores = Layer.merge(LedgerSql.layer, Audit.layer).pipe(
          Layer.provideMerge(Sql.layerPostgres({ url, maxConnections: 4 }))
        )
        const built = yield* Layer.build(Layer.fresh(stores))
        return {
          ledger: Context.get(built, Ledger),
          generations: Context.get(built, GenerationStore),
          audit: Context.get(built, Audit),
          sql: Context.get(built, PgClient.PgClient)
        } satisfies Process
      })
      return [yield* one, yield* one, yield* one, yield* one] as const
    })
  )
}

let count = 0
const fresh = (): string => String(++count).padStart(20, "0")

const reservationOf = (overrides: Partial<Reservation>): Reservation => ({
  generationId: `${idBound("gen", T0)}${fresh()}`,
  keyId: "key",
  ownerId: null,
  model: "mock/echo",
  month: "2026-11",
  amountNano: 100,
  capNano: CAP,
  createdAtMs: T0,
  leaseMs: MINUTE,
  processId: "process",
  ...overrides
})

const At = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
const Amount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 120 }))

/** One request: its process and its end. `lost`: its process is gone and its lease has expired. */
const Request = Schema.Struct({
  key: Schema.Literals(["a", "b"]),
  month: Schema.Literals(["2026-11", "2026-12"]),
  process: At,
  amount: Amount,
  extensions: Schema.Array(Amount).check(Schema.isMaxLength(3)),
  end: Schema.Literals(["settle", "settleTwice", "void", "voidTwice", "lost", "lostAndSettled", "lostAndVoided"]),
  /** Another process that tries to end it. */
  other: At,
  /** The cost as a share of the reserved amount, in quarters. */
  quarters: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))
})
type Request = typeof Request.Type

/** The amount that a request may have been billed. Null: it was not stored. */
interface Outcome {
  readonly id: string
  readonly counter: string
  readonly mayBill: ReadonlyArray<number | null>
}

layer(Processes.layer, { timeout: "60 seconds" })("Four processes on one ledger", (it) => {
  it.effect.prop(
    "never take a key above its cap, keep counters and entries equal, and end each request once",
    { requests: Schema.Array(Request).check(Schema.isMinLength(24), Schema.isMaxLength(40)) },
    ({ requests }) =>
      Effect.gen(function* () {
        const processes = yield* Processes
        const suffix = fresh()
        const keyOf = (key: string): string => `key_${key}_${suffix}`
        const keyIds = [keyOf("a"), keyOf("b")]

        const run = Effect.fnUntraced(function* (request: Request) {
          const mine = processes[request.process as 0].ledger
          const other = processes[request.other as 0].ledger
          const isLost = request.end.startsWith("lost")
          const reservation = reservationOf({
            keyId: keyOf(request.key),
            month: request.month,
            amountNano: request.amount,
            leaseMs: isLost ? -1 : MINUTE
          })
          const { generationId: id, keyId, month } = reservation
          const outcome = { id, counter: `${keyId} ${month}` }
          const first = yield* mine.reserve(reservation)
          if (first._tag === "Refused") {
            const { reservedNano, spentNano } = first.balance
            assert.isAbove(spentNano + reservedNano + request.amount, CAP, "refused although it fits")
            return { ...outcome, mayBill: [null] } satisfies Outcome
          }
          let heldNano = request.amount
          for (const amount of request.extensions) {
            const extended = yield* mine.extend(id, amount, CAP)
            if (extended._tag === "Reserved") heldNano += amount
            else if (!isLost) {
              const { reservedNano, spentNano } = extended.balance
              assert.isAbove(spentNano + reservedNano + amount, CAP, "refused although it fits")
            }
          }
          const billedNano = Math.floor((heldNano * request.quarters) / 4)
          const settle = (by: Ledger["Service"]) => by.settle(makeGeneration({ id, keyId }, billedNano), month)
          const ends: Readonly<Record<Request["end"], ReadonlyArray<Effect.Effect<unknown, unknown>>>> = {
            settle: [settle(mine)],
            settleTwice: [settle(mine), settle(other)],
            void: [mine.void(id)],
            voidTwice: [mine.void(id), other.void(id)],
            lost: [other.settleExpired],
            lostAndSettled: [settle(mine), other.settleExpired],
            lostAndVoided: [mine.void(id), other.settleExpired]
          }
          yield* Effect.all(ends[request.end], { concurrency: "unbounded" })
          const mayBill: Readonly<Record<Request["end"], ReadonlyArray<number | null>>> = {
            settle: [billedNano],
            settleTwice: [billedNano],
            void: [null],
            voidTwice: [null],
            lost: [heldNano],
            lostAndSettled: [billedNano],
            lostAndVoided: [null]
          }
          return { ...outcome, mayBill: mayBill[request.end] } satisfies Outcome
        })

        const isOver = yield* Ref.make(false)
        const observer = Effect.gen(function* () {
          const [process] = processes
          let looks = 0
          while (!(yield* Ref.get(isOver))) {
            assert.deepStrictEqual(yield* process.audit.differences, [])
            const above = yield* process.sql`SELECT * FROM budget_counters
              WHERE key_id = ANY(${keyIds}::text[]) AND spent_nano + reserved_nano > ${CAP}`
            assert.deepStrictEqual(above, [])
            looks++
          }
          return looks
        })
        const watching = yield* Effect.forkChild(observer)
        const outcomes = yield* Effect.forEach(requests, run, { concurrency: "unbounded" }).pipe(
          Effect.ensuring(Ref.set(isOver, true))
        )
        assert.isAbove(yield* Fiber.join(watching), 0)

        const [{ audit, generations, ledger }] = processes
        // The rest was lost while another process was settling.
        yield* ledger.settleExpired
        assert.deepStrictEqual(yield* audit.differences, [])
        const spent = new Map<string, number>()
        for (const { counter, id, mayBill } of outcomes) {
          const found = yield* generations.find(id, null)
          const billed = billedOf(Option.map(found, (state) => (state._tag === "Settled" ? state.generation : null)))
          assert.include(mayBill, billed, id)
          spent.set(counter, (spent.get(counter) ?? 0) + (billed ?? 0))
        }
        for (const month of ["2026-11", "2026-12"]) {
          for (const [keyId, balance] of yield* ledger.balances(keyIds, month)) {
            assert.deepStrictEqual(balance, { spentNano: spent.get(`${keyId} ${month}`) ?? 0, reservedNano: 0 })
          }
        }
      }),
    { timeout: 60_000, arbitrary: { seed: "tollgate", runs: 12 } }
  )

  it.effect("settle the requests of a dead process one at a time, without waiting", () =>
    Effect.gen(function* () {
      const [{ ledger, sql }, ...others] = yield* Processes
      const keyId = `key_${fresh()}`
      const lost = Array.from({ length: 3 }, () => reservationOf({ keyId, capNano: null, leaseMs: -1 }))
      yield* Effect.forEach(lost, ledger.reserve)
      const isSettled = yield* Deferred.make<number>()
      const isEnough = yield* Deferred.make<void>()
      // The first process has settled them, and its transaction is still open.
      const settling = yield* Effect.forkChild(
        sql.withTransaction(
          ledger.settleExpired.pipe(
            Effect.tap((settled) => Deferred.succeed(isSettled, settled)),
            Effect.andThen(Deferred.await(isEnough))
          )
        )
      )
      assert.strictEqual(yield* Deferred.await(isSettled), 3)
      assert.deepStrictEqual(yield* Effect.forEach(others, (other) => other.ledger.settleExpired), [0, 0, 0])
      assert.deepStrictEqual((yield* ledger.balances([keyId], "2026-11")).get(keyId), {
        spentNano: 0,
        reservedNano: 300
      })
      yield* Deferred.succeed(isEnough, undefined)
      yield* Fiber.join(settling)
      assert.deepStrictEqual((yield* ledger.balances([keyId], "2026-11")).get(keyId), {
        spentNano: 300,
        reservedNano: 0
      })
      // The turn of the next process.
      yield* ledger.reserve(reservationOf({ keyId, capNano: null, leaseMs: -1 }))
      assert.strictEqual(yield* others[2].ledger.settleExpired, 1)
    })
  )
})

/** Null: nothing was stored. A request that is pending in the end is a fault. */
const billedOf = (found: Option.Option<Generation | null>): number | null => {
  if (Option.isNone(found)) return null
  assert.isNotNull(found.value, "still pending")
  return found.value?.cost.billedNano ?? null
}
