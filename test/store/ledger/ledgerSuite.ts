/**
 * The guarantees of every Ledger, in memory or in a database. `audit` compares the counters with
 * the sums of the entries.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, type Layer, Option } from "effect"
import { type Generation } from "../../../src/domain/Generation.ts"
import { idBound } from "../../../src/domain/Ids.ts"
import { zeroCost } from "../../../src/domain/pricing/Money.ts"
import { LedgerReports } from "../../../src/store/ledger/reports/LedgerReports.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger, type Progress, type Reservation } from "../../../src/store/ledger/Ledger.ts"
import { type StoreError } from "../../../src/store/StoreError.ts"
import { Audit } from "./LedgerAudit.ts"
import { makeGeneration as generationWith } from "./makeGeneration.ts"

const T0 = Date.UTC(2026, 10, 21, 12)
const MONTH = "2026-11"
const MINUTE = 60_000

let count = 0
/** A new name for each test, so that tests can share a database. Later ones are greater. */
const fresh = (prefix: "key"): string => `${prefix}_${String(++count).padStart(8, "0")}`
/** The id of a generation that began at this time. */
const freshGeneration = (createdAtMs = T0): string =>
  `${idBound("gen", createdAtMs)}${String(++count).padStart(20, "0")}`

const makeReservation = (overrides: Partial<Reservation> = {}): Reservation => ({
  generationId: freshGeneration(overrides.createdAtMs),
  keyId: "key_shared",
  ownerId: null,
  model: "mock/echo",
  month: MONTH,
  amountNano: 100,
  capNano: null,
  createdAtMs: T0,
  leaseMs: MINUTE,
  processId: "process-1",
  ...overrides
})

const makeGeneration = (overrides: Partial<Generation> = {}, billedNano = 40): Generation =>
  generationWith({ id: freshGeneration(overrides.createdAtMs), ...overrides }, billedNano)

/** A replayed answer of the cache, which saved 9. */
const makeReplay = (overrides: Partial<Generation>): Generation =>
  makeGeneration(
    {
      cacheHit: true,
      usageSource: "cache",
      cost: { ...zeroCost, completionNano: 9, cacheDiscountNano: 9 },
      ...overrides
    },
    0
  )

/** 10 prompt tokens for 20 nano-USD. */
const progressWith = (overrides: Partial<Progress> = {}): Progress => ({
  provider: "alpha",
  model: "m/told",
  streamed: true,
  promptTokens: 10,
  completionTokens: 0,
  promptNano: 20,
  completionNano: 0,
  markupNano: 0,
  lines: [{ class: "prompt", quantity: 10, price: 2, nano: 20 }],
  latencyMs: 9,
  timeToFirstTokenMs: null,
  price: { prompt: 2, completion: 10, cachedPrompt: null },
  ...overrides
})

const balanceOf = (keyId: string, month = MONTH) =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    return (yield* ledger.balances([keyId], month)).get(keyId)
  })

const all = <A, E, R>(effects: ReadonlyArray<Effect.Effect<A, E, R>>) =>
  Effect.all(effects, { concurrency: "unbounded" })

/** The state of a generation, without its contents. */
const stateOf = (id: string, keyId: string) =>
  Effect.gen(function* () {
    const generationStore = yield* GenerationStore
    return Option.match(yield* generationStore.find(id, keyId), { onNone: () => "none", onSome: (state) => state._tag })
  })

export const ledgerSuite = <E>(
  name: string,
  ledgerLayer: Layer.Layer<Ledger | LedgerReports | GenerationStore | Audit, E>
) =>
  layer(ledgerLayer, { timeout: "60 seconds" })(name, (it) => {
    /** Asserts after the test that the counters equal the sums of the entries. */
    const audited = <A, E2>(
      title: string,
      test: Effect.Effect<A, E2, Ledger | LedgerReports | GenerationStore | Audit>
    ) =>
      it.effect(title, () =>
        Effect.gen(function* () {
          yield* test
          assert.deepStrictEqual(yield* (yield* Audit).differences, [])
        })
      )

    audited(
      "holds the reserved amount, and charges the billed amount instead",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const reservation = makeReservation({ keyId, ownerId: "usr_1", capNano: 1_000 })
        assert.deepStrictEqual(yield* ledger.reserve(reservation), { _tag: "Reserved" })
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 0, reservedNano: 100 })
        assert.deepStrictEqual(
          yield* generationStore.find(reservation.generationId, keyId),
          Option.some({ _tag: "Pending" as const, isOver: false })
        )

        const generation = makeGeneration({
          id: reservation.generationId,
          keyId,
          ownerId: "usr_1",
          timeToFirstTokenMs: null,
          finishReason: null,
          errorType: "provider_error",
          attempts: [
            {
              provider: "a",
              model: "m",
              status: "error",
              latencyMs: 1.5,
              errorType: "provider_error",
              httpStatus: 500,
              charge: { usage: { promptTokens: 3, completionTokens: 2, cachedTokens: 1 }, totalNano: 9 }
            },
            { provider: "b", model: "m", key: 2, status: "ok", latencyMs: 2, errorType: null, httpStatus: null }
          ],
          excluded: [{ slug: "c", model: "m", reason: "data_policy" }],
          price: { prompt: 1, completion: 2, cachedPrompt: 3 },
          usage: { promptTokens: 10, completionTokens: 20, cachedTokens: 5, reasoningTokens: 7 },
          sticky: "moved"
        })
        yield* ledger.settle(generation, MONTH)
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 40, reservedNano: 0 })
        assert.deepStrictEqual(
          yield* generationStore.find(generation.id, keyId),
          Option.some({ _tag: "Settled" as const, generation })
        )
      })
    )

    audited(
      "refuses an amount that would exceed the cap, and writes nothing then",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = fresh("key")
        const tooMuch = makeReservation({ keyId, capNano: 99 })
        assert.deepStrictEqual(yield* ledger.reserve(tooMuch), {
          _tag: "Refused",
          balance: { spentNano: 0, reservedNano: 0 }
        })
        assert.deepStrictEqual(yield* stateOf(tooMuch.generationId, keyId), "none")

        yield* ledger.reserve(makeReservation({ keyId, capNano: 250 }))
        yield* ledger.settle(makeGeneration({ keyId }, 60), MONTH)
        const refused = makeReservation({ keyId, capNano: 259 })
        assert.deepStrictEqual(yield* ledger.reserve(refused), {
          _tag: "Refused",
          balance: { spentNano: 60, reservedNano: 100 }
        })
        assert.deepStrictEqual(yield* stateOf(refused.generationId, keyId), "none")
        assert.deepStrictEqual(yield* ledger.reserve({ ...refused, capNano: 260 }), { _tag: "Reserved" })
        assert.deepStrictEqual(
          (yield* ledger.reserve(makeReservation({ keyId, capNano: 0, amountNano: 0 })))._tag,
          "Refused"
        )
      })
    )

    audited(
      "reserves an id once, whether it is pending or settled",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = fresh("key")
        const reservation = makeReservation({ keyId, capNano: 150 })
        const results = yield* all(Array.from({ length: 20 }, () => ledger.reserve(reservation)))
        assert.isTrue(results.every((result) => result._tag === "Reserved"))
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 0, reservedNano: 100 })
        yield* ledger.settle(makeGeneration({ id: reservation.generationId, keyId }), MONTH)
        yield* ledger.reserve(reservation)
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 40, reservedNano: 0 })
      })
    )

    audited(
      "grants exactly as many concurrent first requests of a month as fit",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = fresh("key")
        const results = yield* all(
          Array.from({ length: 200 }, () => ledger.reserve(makeReservation({ keyId, capNano: 5_099 })))
        )
        assert.deepStrictEqual(results.filter((result) => result._tag === "Reserved").length, 50)
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 0, reservedNano: 5_000 })
      })
    )

    audited(
      "never has spent and reserved above the cap while requests begin and end",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = fresh("key")
        const capNano = 1_000
        const oneRequest = (n: number) =>
          Effect.gen(function* () {
            const reservation = makeReservation({ keyId, capNano, amountNano: 50 + (n % 7) * 10 })
            const result = yield* ledger.reserve(reservation)
            const held = yield* balanceOf(keyId)
            assert.isTrue(held !== undefined && held.spentNano + held.reservedNano <= capNano)
            if (result._tag === "Refused") return 0
            if (n % 3 === 0) return yield* Effect.as(ledger.void(reservation.generationId), 0)
            const billed = reservation.amountNano - (n % 5) * 10
            yield* ledger.settle(makeGeneration({ id: reservation.generationId, keyId }, billed), MONTH)
            return billed
          })
        const billed = yield* all(Array.from({ length: 120 }, (_, n) => oneRequest(n)))
        assert.deepStrictEqual(yield* balanceOf(keyId), {
          spentNano: billed.reduce((sum, one) => sum + one, 0),
          reservedNano: 0
        })
      })
    )

    audited(
      "counts a key without a cap too, and separates the caps of different keys",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const [a, b] = [fresh("key"), fresh("key")]
        yield* ledger.reserve(makeReservation({ keyId: a, amountNano: 40_000_000_000_000 }))
        yield* ledger.reserve(makeReservation({ keyId: b, capNano: 100 }))
        const balances = yield* ledger.balances([a, b, "key_none"], MONTH)
        assert.deepStrictEqual(
          [...balances],
          [
            [a, { spentNano: 0, reservedNano: 40_000_000_000_000 }],
            [b, { spentNano: 0, reservedNano: 100 }],
            ["key_none", { spentNano: 0, reservedNano: 0 }]
          ]
        )
        assert.deepStrictEqual(yield* ledger.balances([], MONTH), new Map())
      })
    )

    audited(
      "separates months: a request is charged to the month in which it began",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = fresh("key")
        const old = makeReservation({ keyId, capNano: 100 })
        yield* ledger.reserve(old)
        assert.deepStrictEqual((yield* ledger.reserve(makeReservation({ keyId, capNano: 100 })))._tag, "Refused")
        const next = makeReservation({ keyId, capNano: 100, month: "2026-12" })
        assert.deepStrictEqual((yield* ledger.reserve(next))._tag, "Reserved")
        yield* ledger.settle(makeGeneration({ id: old.generationId, keyId }), "2026-12")
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 40, reservedNano: 0 })
        assert.deepStrictEqual(yield* balanceOf(keyId, "2026-12"), { spentNano: 0, reservedNano: 100 })
      })
    )

    audited(
      "settles once, also without a reservation",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const generation = makeGeneration({ keyId })
        yield* all(Array.from({ length: 10 }, () => ledger.settle(generation, MONTH)))
        yield* ledger.settle({ ...generation, model: "mock/other" }, MONTH)
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 40, reservedNano: 0 })
        assert.deepStrictEqual(
          yield* generationStore.find(generation.id, keyId),
          Option.some({ _tag: "Settled" as const, generation })
        )
        yield* ledger.void(generation.id)
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 40, reservedNano: 0 })
      })
    )

    audited(
      "stores a replayed answer only if its amount would fit below the cap, and holds nothing of it",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const held = makeReservation({ keyId, capNano: 250 })
        yield* ledger.reserve(held)
        yield* ledger.settle(makeGeneration({ keyId }, 60), MONTH)
        const refused = makeReplay({ keyId })
        assert.deepStrictEqual(yield* ledger.replay(refused, MONTH, 91, 250), {
          _tag: "Refused",
          balance: { spentNano: 60, reservedNano: 100 }
        })
        assert.deepStrictEqual(yield* stateOf(refused.id, keyId), "none")

        const fits = makeReplay({ keyId })
        assert.deepStrictEqual(yield* ledger.replay(fits, MONTH, 90, 250), { _tag: "Reserved" })
        assert.deepStrictEqual(
          yield* generationStore.find(fits.id, keyId),
          Option.some({ _tag: "Settled" as const, generation: fits })
        )
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 60, reservedNano: 100 })
        // Still stored in another month, and without a cap.
        assert.deepStrictEqual((yield* ledger.replay(makeReplay({ keyId }), "2026-12", 250, 250))._tag, "Reserved")
        assert.deepStrictEqual((yield* ledger.replay(makeReplay({ keyId }), "2026-12", 251, 250))._tag, "Refused")
        assert.deepStrictEqual((yield* ledger.replay(makeReplay({ keyId }), MONTH, 9_999, null))._tag, "Reserved")
        assert.deepStrictEqual((yield* generationStore.list({ keyId, limit: 10, cursor: null })).generations.length, 4)
        // The key has no entries yet.
        const unused = fresh("key")
        assert.deepStrictEqual(yield* ledger.replay(makeReplay({ keyId: unused }), MONTH, 1, 0), {
          _tag: "Refused",
          balance: { spentNano: 0, reservedNano: 0 }
        })
      })
    )

    audited(
      "stores a replayed answer once, and does not check a known one",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const generation = makeReplay({ keyId })
        const results = yield* all(Array.from({ length: 10 }, () => ledger.replay(generation, MONTH, 100, 150)))
        assert.isTrue(results.every((result) => result._tag === "Reserved"))
        yield* ledger.reserve(makeReservation({ keyId, capNano: 150 }))
        const pending = makeReservation({ keyId, amountNano: 50, capNano: 150 })
        yield* ledger.reserve(pending)
        assert.deepStrictEqual(
          yield* all([
            ledger.replay({ ...generation, model: "mock/other" }, MONTH, 100, 150),
            ledger.replay(makeReplay({ id: pending.generationId, keyId }), MONTH, 100, 150)
          ]),
          [{ _tag: "Reserved" }, { _tag: "Reserved" }]
        )
        assert.deepStrictEqual(
          yield* generationStore.find(generation.id, keyId),
          Option.some({ _tag: "Settled" as const, generation })
        )
        assert.deepStrictEqual(yield* stateOf(pending.generationId, keyId), "Settled")
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 0, reservedNano: 100 })
        yield* ledger.void(generation.id)
        assert.deepStrictEqual(yield* stateOf(generation.id, keyId), "Settled")
      })
    )

    audited(
      "writes replayed answers together with other entries, each by its own key's cap, and counts them by day",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const ledgerReports = yield* LedgerReports
        const [a, b] = [fresh("key"), fresh("key")]
        const [settled, voided, extended] = [
          makeReservation({ keyId: a, capNano: 400 }),
          makeReservation({ keyId: a, capNano: 400 }),
          makeReservation({ keyId: b, capNano: 400 })
        ]
        yield* all([settled, voided, extended].map(ledger.reserve))
        const [fits, tooMuch, free] = [makeReplay({ keyId: a }), makeReplay({ keyId: a }), makeReplay({ keyId: b })]
        const results = yield* all<unknown, StoreError, never>([
          ledger.replay(fits, MONTH, 200, 400),
          ledger.replay(tooMuch, MONTH, 201, 400),
          ledger.replay(free, MONTH, 300, 400),
          ledger.replay(makeReplay({ keyId: b }), MONTH, 301, 400),
          ledger.settle(makeGeneration({ id: settled.generationId, keyId: a }), MONTH),
          ledger.void(voided.generationId),
          ledger.extend(extended.generationId, 300, 400),
          ledger.reserve(makeReservation({ keyId: a, amountNano: 360, capNano: 400 })),
          ledger.reserve(makeReservation({ keyId: a, amountNano: 1, capNano: 400 }))
        ])
        assert.deepStrictEqual(results, [
          { _tag: "Reserved" },
          { _tag: "Refused", balance: { spentNano: 0, reservedNano: 200 } },
          { _tag: "Reserved" },
          { _tag: "Refused", balance: { spentNano: 0, reservedNano: 100 } },
          undefined,
          undefined,
          { _tag: "Reserved" },
          { _tag: "Reserved" },
          { _tag: "Refused", balance: { spentNano: 40, reservedNano: 360 } }
        ])
        assert.deepStrictEqual(yield* balanceOf(a), { spentNano: 40, reservedNano: 360 })
        assert.deepStrictEqual(yield* balanceOf(b), { spentNano: 0, reservedNano: 400 })
        const day = Math.floor(T0 / 86_400_000)
        const used = (keyId: string) =>
          Effect.map(
            ledgerReports.report({ keyId, ownerId: null, fromDay: day, toDay: day + 1, groupBy: ["day"], limit: 1 }),
            ({ total }) => [total.requests, total.cacheHits, total.billedNano, total.savedNano]
          )
        assert.deepStrictEqual(
          [yield* used(a), yield* used(b)],
          [
            [2, 1, 40, 9],
            [1, 1, 0, 9]
          ]
        )
      })
    )

    audited(
      "voids once, and ignores unknown ids",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = fresh("key")
        const reservation = makeReservation({ keyId, capNano: 100 })
        yield* ledger.reserve(reservation)
        yield* all(Array.from({ length: 10 }, () => ledger.void(reservation.generationId)))
        yield* ledger.void("gen_none")
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 0, reservedNano: 0 })
        assert.deepStrictEqual(yield* stateOf(reservation.generationId, keyId), "none")
        assert.deepStrictEqual((yield* ledger.reserve(reservation))._tag, "Reserved")
      })
    )

    audited(
      "ends a reservation once when settle, void and recovery are concurrent",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const held = Array.from({ length: 30 }, () => makeReservation({ keyId, leaseMs: -1 }))
        yield* all(held.map(ledger.reserve))
        const counts = yield* all([
          ...held.flatMap((one) => [
            Effect.as(ledger.settle(makeGeneration({ id: one.generationId, keyId }), MONTH), 0),
            Effect.as(ledger.void(one.generationId), 0)
          ]),
          ledger.settleExpired,
          ledger.settleExpired,
          ledger.settleExpired
        ])
        assert.isAtMost(
          counts.reduce((sum, one) => sum + one, 0),
          30
        )
        // A generation that came after its reservation was voided is stored too. One that came
        // after recovery replaces the estimate.
        const { generations } = yield* generationStore.list({ keyId, limit: 100, cursor: null })
        assert.deepStrictEqual(
          generations.filter((one) => one.usageSource === "estimated"),
          []
        )
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: generations.length * 40, reservedNano: 0 })
      })
    )

    audited(
      "settles the reservations of a crashed process as estimated, at their amount, and leaves live leases alone",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const lost = makeReservation({ keyId, ownerId: "usr_9", capNano: 500, leaseMs: -1 })
        const live = makeReservation({ keyId, capNano: 500, leaseMs: MINUTE })
        yield* ledger.reserve(lost)
        yield* ledger.reserve(live)
        assert.deepStrictEqual(
          yield* generationStore.find(lost.generationId, keyId),
          Option.some({ _tag: "Pending" as const, isOver: true })
        )
        const counts = yield* all(Array.from({ length: 4 }, () => ledger.settleExpired))
        assert.deepStrictEqual(
          counts.reduce((sum, one) => sum + one, 0),
          1
        )
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 100, reservedNano: 100 })
        const found = Option.getOrThrow(yield* generationStore.find(lost.generationId, keyId))
        assert.isTrue(found._tag === "Settled")
        if (found._tag === "Settled") {
          const { usageSource, cost, ownerId, createdAtMs, reservation } = found.generation
          assert.deepStrictEqual(
            { usageSource, billed: cost.billedNano, ownerId, createdAtMs, settled: reservation.settledNano },
            { usageSource: "estimated", billed: 100, ownerId: "usr_9", createdAtMs: T0, settled: 100 }
          )
          assert.deepStrictEqual(cost.promptNano + cost.completionNano - cost.cacheDiscountNano, cost.totalNano)
        }
        assert.deepStrictEqual(yield* stateOf(live.generationId, keyId), "Pending")
      })
    )

    audited(
      "charges by the progress of the last heartbeat, and marks the generation",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const begun = makeReservation({ keyId, amountNano: 1_000, leaseMs: -1, progress: progressWith() })
        const told = makeReservation({ keyId, amountNano: 1_000, progress: progressWith() })
        const quiet = makeReservation({ keyId, amountNano: 1_000, progress: progressWith() })
        yield* all([begun, told, quiet].map(ledger.reserve))
        const later = progressWith({ completionTokens: 7, completionNano: 70, markupNano: 3, timeToFirstTokenMs: 5 })
        yield* ledger.renew(
          [
            { generationId: told.generationId, progress: later },
            { generationId: quiet.generationId, progress: null },
            { generationId: "gen_none", progress: later }
          ],
          -1
        )
        assert.strictEqual(yield* ledger.settleExpired, 3)
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 20 + 93 + 20, reservedNano: 0 })
        const settled = Option.getOrThrow(yield* generationStore.find(told.generationId, keyId))
        const { generation } = settled._tag === "Settled" ? settled : assert.fail(settled._tag)
        assert.deepInclude(generation, {
          usageSource: "estimated",
          errorType: "internal_error",
          provider: "alpha",
          model: "m/told",
          streamed: true,
          usage: { promptTokens: 10, completionTokens: 7, cachedTokens: 0 },
          cost: {
            promptNano: 20,
            completionNano: 70,
            cacheDiscountNano: 0,
            feesNano: 0,
            totalNano: 90,
            markupNano: 3,
            billedNano: 93,
            lines: later.lines
          },
          latencyMs: 9,
          timeToFirstTokenMs: 5,
          price: { prompt: 2, completion: 10, cachedPrompt: null },
          reservation: { reservedNano: 1_000, extendedNano: 0, settledNano: 93 }
        })
      })
    )

    audited(
      "a late settlement replaces the estimate everywhere, once",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const ledgerReports = yield* LedgerReports
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const slow = makeReservation({ keyId, leaseMs: -1 })
        const undone = makeReservation({ keyId, leaseMs: -1, progress: progressWith() })
        yield* all([slow, undone].map(ledger.reserve))
        assert.strictEqual(yield* ledger.settleExpired, 2)
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 120, reservedNano: 0 })
        // Another key cannot settle it.
        yield* ledger.settle(makeGeneration({ id: slow.generationId, keyId: fresh("key") }, 1), MONTH)
        const truth = makeGeneration({ id: slow.generationId, keyId, model: "m/true", finishReason: "stop" }, 140)
        yield* all([1, 2, 3].map(() => ledger.settle(truth, MONTH)))
        yield* ledger.settle(makeGeneration({ id: slow.generationId, keyId }, 7), MONTH)
        yield* all([ledger.void(undone.generationId), ledger.void(slow.generationId)])
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 140, reservedNano: 0 })
        assert.deepStrictEqual(
          yield* generationStore.find(slow.generationId, keyId),
          Option.some({ _tag: "Settled" as const, generation: truth })
        )
        assert.strictEqual(yield* stateOf(undone.generationId, keyId), "none")
        const day = Math.floor(T0 / 86_400_000)
        const { parts, total } = yield* ledgerReports.report({
          keyId,
          ownerId: null,
          fromDay: day,
          toDay: day + 1,
          groupBy: ["model"],
          limit: 10
        })
        assert.deepStrictEqual([total.requests, total.failed, total.billedNano], [1, 0, 140])
        assert.deepStrictEqual(
          parts.get("model")?.rows.map(({ group }) => group),
          ["m/true"]
        )
      })
    )

    audited(
      "recovers more than one batch of a crashed process's reservations",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = fresh("key")
        const held = Array.from({ length: 450 }, () => makeReservation({ keyId, amountNano: 2, leaseMs: -MINUTE }))
        yield* all(held.map(ledger.reserve))
        const counts = yield* all([ledger.settleExpired, ledger.settleExpired])
        assert.deepStrictEqual(
          counts.reduce((sum, one) => sum + one, 0),
          450
        )
        assert.deepStrictEqual(yield* balanceOf(keyId), { spentNano: 900, reservedNano: 0 })
      })
    )

    audited(
      "shows a generation to its own key only",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const [mine, other] = [fresh("key"), fresh("key")]
        const settled = makeGeneration({ keyId: mine })
        const pending = makeReservation({ keyId: mine })
        yield* ledger.settle(settled, MONTH)
        yield* ledger.reserve(pending)
        assert.deepStrictEqual(yield* stateOf(settled.id, mine), "Settled")
        assert.deepStrictEqual(yield* stateOf(pending.generationId, mine), "Pending")
        assert.deepStrictEqual(yield* stateOf(settled.id, other), "none")
        assert.deepStrictEqual(yield* stateOf(pending.generationId, other), "none")
        assert.deepStrictEqual(yield* stateOf("gen_none", mine), "none")
        assert.deepStrictEqual(yield* generationStore.list({ keyId: other, limit: 10, cursor: null }), {
          generations: [],
          nextCursor: null
        })
      })
    )

    audited(
      "pages through a key's generations, newest first, by time and model",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const keyId = fresh("key")
        const made = Array.from({ length: 9 }, (_, n) =>
          makeGeneration({ keyId, createdAtMs: T0 + n, model: n % 2 === 0 ? "a/even" : "a/odd" })
        )
        yield* all(made.map((one) => ledger.settle(one, MONTH)))
        yield* ledger.settle(makeGeneration({ keyId: fresh("key") }), MONTH)

        const seen: Array<Generation> = []
        let cursor: string | null = null
        do {
          const page: { generations: ReadonlyArray<Generation>; nextCursor: string | null } =
            yield* generationStore.list({
              keyId,
              limit: 4,
              cursor
            })
          seen.push(...page.generations)
          cursor = page.nextCursor
        } while (cursor !== null)
        assert.deepStrictEqual(seen, made.toReversed())

        const some = yield* generationStore.list({
          keyId,
          limit: 2,
          cursor: null,
          fromMs: T0 + 2,
          toMs: T0 + 8,
          model: "a/even"
        })
        assert.deepStrictEqual(
          some.generations.map((one) => one.createdAtMs - T0),
          [6, 4]
        )
        const rest = yield* generationStore.list({
          keyId,
          limit: 2,
          cursor: some.nextCursor,
          fromMs: T0 + 2,
          toMs: T0 + 8,
          model: "a/even"
        })
        assert.deepStrictEqual(
          rest.generations.map((one) => one.createdAtMs - T0),
          [2]
        )
        assert.isNull(rest.nextCursor)
      })
    )

    audited(
      "stores any finish reason of a provider",
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const keyId = fresh("key")
        const generation = makeGeneration({ keyId, finishReason: "st\0op\ud800'; DROP TABLE generations; --" })
        yield* ledger.settle(generation, MONTH)
        assert.deepStrictEqual(yield* stateOf(generation.id, keyId), "Settled")
      })
    )

    it.effect("answers a ping", () => Effect.flatMap(Ledger, (ledger) => ledger.ping))
  })

/** The overview counts the generations of all keys, so this needs its own ledger. */
export const overviewSuite = <E>(name: string, ledgerLayer: Layer.Layer<Ledger | LedgerReports | GenerationStore, E>) =>
  layer(ledgerLayer, { timeout: "60 seconds" })(name, (it) => {
    it.effect("sums up an empty ledger as zeros and nulls, then its contents", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const ledgerReports = yield* LedgerReports
        assert.deepStrictEqual(yield* ledgerReports.overview(T0), {
          last5m: 0,
          last24h: 0,
          failed24h: 0,
          cacheHits24h: 0,
          cacheSaved24hNano: 0,
          latencyMs: null,
          spentTodayNano: 0,
          spentMonthNano: 0,
          reservedNano: 0,
          byModel: [],
          pending: 0,
          oldestPendingMs: null,
          flushLagMs: 0
        })

        assert.deepStrictEqual(yield* ledgerReports.backlog(T0), { pending: 0, oldestPendingMs: 0, flushLagMs: 0 })

        const [a, b] = [fresh("key"), fresh("key")]
        const hour = 60 * MINUTE
        const settle = (overrides: Partial<Generation>, billed: number) =>
          ledger.settle(makeGeneration(overrides, billed), MONTH)
        yield* settle({ keyId: a, model: "m/one", createdAtMs: T0 - MINUTE, latencyMs: 10 }, 5)
        yield* settle(
          { keyId: b, model: "m/two", createdAtMs: T0 - hour, latencyMs: 20, errorType: "provider_error" },
          7
        )
        yield* settle({ keyId: b, model: "m/one", createdAtMs: T0 - 13 * hour, latencyMs: 30 }, 11)
        yield* settle(
          {
            keyId: b,
            model: "m/two",
            createdAtMs: T0 - 2 * hour,
            latencyMs: 40,
            cacheHit: true,
            cost: { ...zeroCost, completionNano: 9, cacheDiscountNano: 9 }
          },
          0
        )
        yield* settle({ keyId: a, model: "m/old", createdAtMs: T0 - 48 * hour, latencyMs: 9_999 }, 1_000)
        const lost = makeReservation({
          keyId: a,
          model: "m/three",
          amountNano: 3,
          leaseMs: -1,
          createdAtMs: T0 - MINUTE
        })
        yield* ledger.reserve(lost)
        yield* ledger.settleExpired
        yield* ledger.reserve(makeReservation({ keyId: a, amountNano: 100, createdAtMs: T0 - 30_000 }))
        yield* ledger.reserve(makeReservation({ keyId: b, amountNano: 23, createdAtMs: T0 - 10_000 }))

        assert.deepStrictEqual(yield* ledgerReports.backlog(T0), { pending: 2, oldestPendingMs: 30_000, flushLagMs: 0 })
        const overview = yield* ledgerReports.overview(T0)
        assert.deepStrictEqual(
          { ...overview, latencyMs: null },
          {
            last5m: 2,
            last24h: 5,
            failed24h: 2,
            cacheHits24h: 1,
            cacheSaved24hNano: 9,
            latencyMs: null,
            spentTodayNano: 15,
            spentMonthNano: 1_026,
            reservedNano: 123,
            byModel: [
              { model: "m/old", billedNano: 1_000, requests: 1 },
              { model: "m/one", billedNano: 16, requests: 2 },
              { model: "m/two", billedNano: 7, requests: 2 },
              { model: "m/three", billedNano: 3, requests: 1 }
            ],
            pending: 2,
            oldestPendingMs: 30_000,
            flushLagMs: 0
          }
        )
        assert.closeTo(overview.latencyMs?.p50 ?? 0, 25, 1e-6)
        assert.closeTo(overview.latencyMs?.p95 ?? 0, 38.5, 1e-6)
        assert.closeTo(overview.latencyMs?.p99 ?? 0, 39.7, 1e-6)
      })
    )
  })
