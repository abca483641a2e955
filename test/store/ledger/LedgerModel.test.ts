/**
 * The ledger in Postgres compared with a minimal model of it. Rounds of commands run concurrently
 * in four processes with one connection each. After each round there must be an order of the
 * commands in which the model gives the same results and the same state. Meanwhile processes die,
 * caps change, months end, and any process settles expired reservations. A second run archives
 * settled generations at the same time.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { idBound } from "../../../src/domain/Ids.ts"
import { monthEndMs, monthOf } from "../../../src/domain/pricing/Money.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { freshDatabase } from "../../support/Postgres.ts"
import { Audit } from "./LedgerAudit.ts"
import { balanceOf, type Book, type Command, type Entry, orders, step, type Told } from "./ledgerModel.ts"
import { makeGeneration } from "./makeGeneration.ts"

const T0 = Date.UTC(2026, 10, 21, 12)
const LEASE_MS = 60_000
const DAY_MS = 86_400_000

class Cluster extends Context.Service<
  Cluster,
  {
    readonly ledgers: readonly [Ledger["Service"], ...ReadonlyArray<Ledger["Service"]>]
    readonly generations: ReadonlyArray<GenerationStore["Service"]>
    readonly audit: Audit["Service"]
    readonly sql: PgClient.PgClient
  }
>()("test/store/Cluster") {
  static readonly layer = Layer.effect(
    Cluster,
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const one = Layer.build(
        Layer.fresh(
          Layer.merge(LedgerSql.layer, Audit.layer).pipe(
            Layer.provideMerge(Sql.layerPostgres({ url, maxConnections: 1 }))
          )
        )
      )
      const first = yield* one
      const others = yield* Effect.replicateEffect(one, 3)
      // The database's clock is this table.
      const sql = Context.get(first, PgClient.PgClient)
      yield* sql`CREATE TABLE clock AS SELECT ${T0}::bigint AS now_ms`
      yield* sql.unsafe(
        `CREATE OR REPLACE FUNCTION ledger_now() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT now_ms FROM clock'`
      )
      return {
        ledgers: [Context.get(first, Ledger), ...others.map((built) => Context.get(built, Ledger))] as const,
        generations: [first, ...others].map((built) => Context.get(built, GenerationStore)),
        audit: Context.get(first, Audit),
        sql
      }
    })
  )
}

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const At = between(0, 3)
const Amount = between(0, 90)
const Which = between(0, 999)
const KeyName = Schema.Literals(["a", "b"])

/** A number that selects one of the requests so far, modulo their count. */
const Wish = Schema.Union([
  Schema.Struct({ do: Schema.Literal("reserve"), key: KeyName, amount: Amount }),
  Schema.Struct({ do: Schema.Literal("again"), which: Which }),
  Schema.Struct({ do: Schema.Literal("extend"), which: Which, amount: Amount }),
  Schema.Struct({ do: Schema.Literal("settle"), which: Which, quarters: between(0, 4) }),
  Schema.Struct({ do: Schema.Literal("unreserved"), key: KeyName }),
  Schema.Struct({ do: Schema.Literal("replay"), key: KeyName, amount: Amount }),
  Schema.Struct({ do: Schema.Literal("replayAgain"), which: Which }),
  Schema.Struct({ do: Schema.Literal("void"), which: Which })
])

/** `recovers`: a process settles expired reservations at the same time. */
const Round = Schema.Struct({
  before: Schema.Literals(["nothing", "nothing", "crash", "lease", "month", "cap"]),
  process: At,
  key: KeyName,
  cap: Schema.NullOr(between(0, 300)),
  wishes: Schema.Array(Wish).check(Schema.isMinLength(1), Schema.isMaxLength(5)),
  recovers: Schema.Boolean
})

const run = (ledger: Ledger["Service"], command: Command) => {
  switch (command._tag) {
    case "Reserve": {
      const { id: generationId, leaseUntilMs: _, ...rest } = command
      return Effect.map(
        ledger.reserve({
          generationId,
          ...rest,
          leaseMs: LEASE_MS,
          ownerId: null,
          model: "mock/echo",
          createdAtMs: T0
        }),
        (result): Told => (result._tag === "Reserved" ? "Reserved" : result.balance)
      )
    }
    case "Extend":
      return Effect.map(ledger.extend(command.id, command.amountNano, command.capNano), (result): Told =>
        result._tag === "Reserved" ? "Reserved" : result.balance
      )
    case "Settle": {
      const { billedNano, id, keyId, month } = command
      return Effect.as(ledger.settle(makeGeneration({ id, keyId }, billedNano), month), null)
    }
    case "Replay": {
      const { amountNano, capNano, id, keyId, month } = command
      const generation = makeGeneration({ id, keyId, cacheHit: true }, 0)
      return Effect.map(ledger.replay(generation, month, amountNano, capNano), (result): Told =>
        result._tag === "Reserved" ? "Reserved" : result.balance
      )
    }
    case "Void":
      return Effect.as(ledger.void(command.id), null)
    case "Renew":
      return Effect.as(
        ledger.renew(
          command.ids.map((generationId) => ({ generationId, progress: null })),
          LEASE_MS
        ),
        null
      )
    case "Recover":
      return ledger.settleExpired
  }
}

let count = 0
const fresh = (): string => `${idBound("gen", T0)}${String(++count).padStart(20, "0")}`

/**
 * The part of an entry that the tables contain too. A settled one has no reserved amount any more.
 */
const shown = ({ amountNano, billedNano, id, keyId, leaseUntilMs, month }: Entry) =>
  billedNano === null ? { id, keyId, month, amountNano, leaseUntilMs } : { id, keyId, month, billedNano }

type Shown = ReturnType<typeof shown>

const sorted = <A extends { readonly id: string }>(all: ReadonlyArray<A>) =>
  all.toSorted((a, b) => (a.id < b.id ? -1 : 1))

const on = (
  name: string,
  cluster: typeof Cluster.layer,
  { meanwhile, runs }: { readonly meanwhile: Effect.Effect<void, unknown, Cluster>; readonly runs: number }
) =>
  layer(cluster, { timeout: "60 seconds" })(name, (it) => {
    it.effect.prop(
      "never differ, whatever four processes do concurrently, while some die, caps change and months end",
      { rounds: Schema.Array(Round).check(Schema.isMinLength(12), Schema.isMaxLength(24)) },
      ({ rounds }) =>
        Effect.gen(function* () {
          const { audit, ledgers, sql } = yield* Cluster
          const keyIds = { a: `key_a_${++count}`, b: `key_b_${count}` }
          const caps: Record<"a" | "b", number | null> = { a: 200, b: null }
          const processes = ledgers.map((_, at) => `prc_${at}_${count}`)
          const months = new Set<string>()
          const known: Array<Extract<Command, { _tag: "Reserve" }>> = []
          let nowMs = T0
          let book: Book = new Map()

          /** Everything that the tables contain about these keys. */
          const seen = Effect.gen(function* () {
            const pending =
              yield* sql<Shown>`SELECT generation_id AS id, key_id AS "keyId", month, amount_nano AS "amountNano",
            lease_until_ms AS "leaseUntilMs" FROM reservations WHERE key_id = ANY(${Object.values(keyIds)}::text[])`
            const settled = yield* sql<Shown>`SELECT id, key_id AS "keyId", month, billed_nano AS "billedNano" FROM (
              SELECT * FROM generations UNION ALL SELECT * FROM generations_archive
            ) AS all_generations WHERE key_id = ANY(${Object.values(keyIds)}::text[])`
            return sorted([...pending, ...settled])
          })

          const commandOf = (wish: typeof Wish.Type, processId: string): Command | undefined => {
            if (wish.do === "reserve") {
              const reserve = {
                _tag: "Reserve" as const,
                id: fresh(),
                keyId: keyIds[wish.key],
                month: monthOf(nowMs),
                amountNano: wish.amount,
                capNano: caps[wish.key],
                leaseUntilMs: nowMs + LEASE_MS,
                processId
              }
              known.push(reserve)
              return reserve
            }
            if (wish.do === "unreserved") {
              return { _tag: "Settle", id: fresh(), keyId: keyIds[wish.key], month: monthOf(nowMs), billedNano: 0 }
            }
            if (wish.do === "replay") {
              const keyId = keyIds[wish.key]
              const month = monthOf(nowMs)
              return { _tag: "Replay", id: fresh(), keyId, month, amountNano: wish.amount, capNano: caps[wish.key] }
            }
            const reserve = known[wish.which % known.length]
            if (reserve === undefined) return undefined
            const { amountNano, id, keyId, month } = reserve
            const capNano = keyId === keyIds.a ? caps.a : caps.b
            switch (wish.do) {
              case "again":
                return { ...reserve, leaseUntilMs: nowMs + LEASE_MS }
              case "extend":
                return { _tag: "Extend", id, amountNano: wish.amount, capNano }
              case "settle": {
                const billedNano = Math.floor((amountNano * wish.quarters) / 4)
                return { _tag: "Settle", id, keyId, month, billedNano }
              }
              case "replayAgain":
                return { _tag: "Replay", id, keyId, month, amountNano, capNano }
              case "void":
                return { _tag: "Void", id }
            }
          }

          const happens = (commands: ReadonlyArray<Command>) =>
            Effect.gen(function* () {
              const [told] = yield* Effect.all(
                [
                  Effect.forEach(commands, (command, at) => run(ledgers[at % ledgers.length] ?? ledgers[0], command), {
                    concurrency: "unbounded"
                  }),
                  meanwhile
                ],
                { concurrency: 2 }
              )
              const after = yield* seen
              const pending = new Set(after.flatMap((entry) => ("billedNano" in entry ? [] : [entry.id])))
              const touched = new Set(commands.flatMap((command) => ("id" in command ? [command.id] : [])))
              const ways = orders(commands.map((command, at) => ({ command, told: told[at] })))
              const way = ways.find((way) => {
                let now: Book = book
                for (const { command, told } of way) {
                  const [next, tells] = step(now, command, ({ id }) => touched.has(id) && pending.has(id))
                  if (JSON.stringify(tells) !== JSON.stringify(told)) return false
                  now = next
                }
                return JSON.stringify(sorted([...now.values()].map(shown))) === JSON.stringify(after)
              })
              assert.isDefined(
                way,
                `no order of them explains it: ${JSON.stringify({ book: [...book.values()], commands, told, after })}`
              )
              for (const { command } of way ?? [])
                [book] = step(book, command, ({ id }) => touched.has(id) && pending.has(id))
              for (const month of months) {
                for (const [keyId, balance] of yield* ledgers[0].balances(Object.values(keyIds), month)) {
                  assert.deepStrictEqual(balance, balanceOf(book, keyId, month))
                }
              }
              assert.deepStrictEqual(yield* audit.differences, [])
            })
          const moveTo = (ms: number) => {
            nowMs = ms
            return sql`UPDATE clock SET now_ms = ${nowMs}::bigint`
          }
          const signsOfLife = () =>
            happens(
              processes.map((processId) => ({
                _tag: "Renew",
                ids: [...book.values()].filter((entry) => entry.processId === processId).map(({ id }) => id),
                leaseUntilMs: nowMs + LEASE_MS
              }))
            )
          yield* moveTo(T0)

          for (const { before, cap, key, process, recovers, wishes } of rounds) {
            switch (before) {
              case "crash":
                // Its successor has another id, and its reservations are not renewed.
                processes[process] = `prc_${process}_${++count}`
                break
              case "lease":
                yield* moveTo(nowMs + LEASE_MS / 2)
                yield* signsOfLife()
                break
              case "month":
                yield* moveTo(monthEndMs(nowMs))
                yield* signsOfLife()
                break
              case "cap":
                caps[key] = cap
                break
              case "nothing":
            }
            months.add(monthOf(nowMs))
            const commands = wishes.flatMap((wish, at) => commandOf(wish, processes[at % processes.length] ?? "") ?? [])
            yield* happens(recovers ? [...commands, { _tag: "Recover", nowMs }] : commands)
          }

          // When all processes are dead and all leases have expired, nothing stays pending.
          yield* moveTo(nowMs + LEASE_MS)
          yield* happens([{ _tag: "Recover", nowMs }])
          assert.deepStrictEqual(
            [...book.values()].filter(({ billedNano }) => billedNano === null),
            []
          )
        }),
      { timeout: 60_000, arbitrary: { seed: "tollgate", runs } }
    )
  })

on("The ledger and a plain model of it", Cluster.layer, { meanwhile: Effect.void, runs: 15 })

/**
 * Everything that these tests make is old enough, and the processes take turns at small batches.
 */
const archiving = Effect.gen(function* () {
  const { generations } = yield* Cluster
  yield* generations[++count % generations.length]?.archive(T0 + 1, 2) ?? Effect.void
})
on(
  "The ledger and a plain model of it, while the settled are archived",
  Layer.fresh(Layer.unwrap(Effect.as(TestClock.setTime(T0 + 30 * DAY_MS), Cluster.layer))),
  { meanwhile: archiving, runs: 8 }
)
