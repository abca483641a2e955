/**
 * Budgets: no request exceeds them and none is locked out. Slices, queues of waiting requests, and
 * answers that cost more than their reservation.
 */
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Fiber, Layer, Result, Stream } from "effect"
import { Batches } from "../../../src/domain/runtime/Batches.ts"
import { TestClock } from "effect/testing"
import { type ChatEvent } from "../../../src/domain/Chat.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { nanoFromUsd } from "../../../src/domain/pricing/Money.ts"
import { collectReply } from "../../../src/gateway/reply/CollectReply.ts"
import { type Outcome } from "../../../src/gateway/billing/Outcome.ts"
import { Meter } from "../../../src/gateway/billing/Meter.ts"
import { type MeteredRequest } from "../../../src/gateway/billing/Reservation.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import { StoreError } from "../../../src/store/StoreError.ts"
import { boundedPrompt, candidateWith, meteredWith, requestWith } from "../plans.ts"
import { outcomeWith } from "./outcomeWith.ts"

/** The ledger of a test; its writes can be made to fail. */
const troubled = () => {
  const trouble = { isAway: false, renewals: 0 }
  const away = Effect.fail(new StoreError({ dependency: "database", cause: null }))
  const layer = Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) =>
      Ledger.of({
        ...ledger,
        settle: (generation, month) => Effect.suspend(() => (trouble.isAway ? away : ledger.settle(generation, month))),
        extend: (id, amount, cap) => Effect.suspend(() => (trouble.isAway ? away : ledger.extend(id, amount, cap))),
        renew: (running, leaseMs) => {
          trouble.renewals++
          return ledger.renew(running, leaseMs)
        }
      })
    )
  ).pipe(Layer.provideMerge(LedgerMemory.layer))
  return { trouble, layer }
}

const meterOn = (ledger: Layer.Layer<Ledger>) =>
  Meter.layer({ markup: 0, ledger: { leaseMs: 150_000 } }).pipe(
    Layer.provideMerge(Layer.mergeAll(ledger, LimitsMemory.layer, Ids.layerSequence))
  )
const meter = meterOn(LedgerMemory.layer)

/** 1,000 nano-USD a prompt token and 2,000 a completion token. */
const alpha = candidateWith("alpha")
const KEY = "key_000000000000000000000000000000aa"
/** The price of ten prompt tokens and a slice of output. */
const SLICE_NANO = 10_000 + 1_024 * 2_000

const balance = Effect.gen(function* () {
  return (yield* (yield* Ledger).balances([KEY], "1970-01")).get(KEY)
})

const ended = (completionTokens: number, promptTokens = 10): Outcome =>
  outcomeWith({ candidate: alpha, usage: { promptTokens, completionTokens, cachedTokens: 0 } })

const capped = (monthlyBudgetNano: number, request: Parameters<typeof meteredWith>[0] = {}) =>
  meteredWith({ key: { monthlyBudgetNano }, ...request })

/** `count` events of one token each. */
const tokens = (count: number): Batches<ChatEvent> =>
  oneByOne(
    Array.from({ length: count }, (): ChatEvent => ({
      _tag: "Choices",
      choices: [{ index: 0, delta: { content: " a" }, finish_reason: null }]
    }))
  )

const oneByOne = (events: ReadonlyArray<ChatEvent>): Batches<ChatEvent> => {
  let at = 0
  return Batches.fromPull<ChatEvent, never>(
    Effect.suspend(() => {
      const event = events[at++]
      return event === undefined ? Cause.done() : Effect.succeed([event])
    })
  )
}

/** How many of `count` tokens pass, and the error that ended them. */
const watched = Effect.fnUntraced(function* (request: MeteredRequest, count: number) {
  let through = 0
  const events = (yield* Meter).outputBudget(request).watch(tokens(count))
  const end = yield* Effect.result(Stream.runForEach(events.stream, () => Effect.sync(() => void through++)))
  return { through, reason: Result.isFailure(end) ? end.failure.reason : null }
})

describe("slices", () => {
  it.effect("a long answer reserves a slice of its worst case first, and more while it arrives", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const request = capped(nanoFromUsd(1), { outputTokens: 100_000 })
      assert.strictEqual((yield* reserve(request))._tag, "Reserved")
      assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: SLICE_NANO })
      assert.isNull(request.reservation.held.affordableTokens, "the provider is not told to stop early")
      assert.deepStrictEqual(yield* watched(request, 3_000), { through: 3_000, reason: null })
      const during = yield* balance
      assert.isAtLeast(during?.reservedNano ?? 0, 10_000 + 3_000 * 2_000)
      assert.isAtMost(during?.reservedNano ?? 0, 10_000 + (3_000 + 2 * 1_024) * 2_000)
      const { reservation } = yield* settle(request, ended(3_000))
      assert.strictEqual(reservation.reservedNano, SLICE_NANO)
      assert.strictEqual(reservation.reservedNano + reservation.extendedNano, during?.reservedNano)
      assert.deepStrictEqual(yield* balance, { spentNano: 6_010_000, reservedNano: 0 })
    }).pipe(Effect.provide(meter))
  )

  it.effect("is cut before a token that is not reserved, and nothing is billed beyond the cap", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const cap = 10_000 + 1_500 * 2_000
      const request = capped(cap, { outputTokens: 100_000, streamed: true })
      yield* reserve(request)
      const { reason, through } = yield* watched(request, 5_000)
      assert.strictEqual(through, 1_500, "all of the budget is used, and no more")
      assert.deepInclude(reason, { _tag: "BudgetExceeded", capNano: cap, spentNano: 0, reservedNano: cap })
      assert.isTrue(request.reservation.held.isClamped)
      yield* settle(request, ended(1_500))
      assert.deepStrictEqual(yield* balance, { spentNano: cap, reservedNano: 0 })
    }).pipe(Effect.provide(meter))
  )

  it.effect("small requests find room next to big ones", () =>
    Effect.gen(function* () {
      const { reserve } = yield* Meter
      // Five worst cases of 200 million nano-USD would not fit.
      const cap = 20_000_000
      for (let big = 0; big < 5; big++) {
        assert.strictEqual((yield* reserve(capped(cap, { outputTokens: 100_000 })))._tag, "Reserved")
      }
      assert.strictEqual((yield* reserve(capped(cap, { outputTokens: 100 })))._tag, "Reserved")
    }).pipe(Effect.provide(meter))
  )

  it.effect("hidden reasoning reserves the whole worst case", () =>
    Effect.gen(function* () {
      const { reserve } = yield* Meter
      const worst = 10_000 + 2_000 * 2_000
      for (const request of [
        capped(nanoFromUsd(1), { outputTokens: 2_000, ranked: [candidateWith("alpha", { hidesReasoning: true })] }),
        capped(nanoFromUsd(1), {
          outputTokens: 2_000,
          request: requestWith({ reasoning_effort: "low" })
        })
      ]) {
        const before = (yield* balance)?.reservedNano ?? 0
        yield* reserve(request)
        assert.strictEqual(((yield* balance)?.reservedNano ?? 0) - before, worst)
        assert.deepInclude(request.reservation.held, { tokens: 2_000, isSliced: false })
        assert.strictEqual(request.reservation.held.affordableTokens, 2_000)
      }
    }).pipe(Effect.provide(meter))
  )

  it.effect("an answer beyond its worst case goes on while the budget has room, and then ends", () =>
    Effect.gen(function* () {
      const { reserve } = yield* Meter
      // The price of 10 prompt tokens and 300 of output.
      const cap = 10_000 + 300 * 2_000
      const request = capped(cap, { outputTokens: 100, streamed: true })
      yield* reserve(request)
      assert.strictEqual((yield* balance)?.reservedNano, 10_000 + 100 * 2_000)
      assert.deepStrictEqual(yield* watched(request, 180), { through: 180, reason: null }, "as counted elsewhere")
      assert.strictEqual(request.reservation.extendedNano, 0)
      const { reason, through } = yield* watched(request, 5_000)
      assert.strictEqual(through, 300)
      assert.deepInclude(reason, { _tag: "BudgetExceeded", capNano: cap, reservedNano: cap })
    }).pipe(Effect.provide(meter))
  )

  it.effect("if the ledger is away, the answer is cut where its reservation ends", () => {
    const { layer, trouble } = troubled()
    return Effect.gen(function* () {
      const request = capped(nanoFromUsd(1), { outputTokens: 100_000 })
      yield* (yield* Meter).reserve(request)
      trouble.isAway = true
      const { reason, through } = yield* watched(request, 5_000)
      assert.strictEqual(through, 1_024)
      assert.deepInclude(reason, { _tag: "DependencyUnavailable", dependency: "database" })
    }).pipe(Effect.provide(meterOn(layer)))
  })
})

describe("a whole reply", () => {
  const events = (count: number): ReadonlyArray<ChatEvent> => [
    ...Array.from({ length: count }, (): ChatEvent => ({
      _tag: "Choices",
      choices: [{ index: 0, delta: { content: " a" }, finish_reason: null }]
    })),
    { _tag: "Choices", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { _tag: "End", usage: { promptTokens: 10, completionTokens: count, cachedTokens: 0 }, systemFingerprint: "fp" }
  ]
  const gather = (request: MeteredRequest, count: number) =>
    Effect.gen(function* () {
      const { outputBudget, reserve } = yield* Meter
      yield* reserve(request)
      return yield* collectReply(outputBudget(request).watch(oneByOne(events(count))), "alpha", () => undefined)
    })

  it.effect("is read as a stream, and the reply is the same", () =>
    Effect.gen(function* () {
      const reply = yield* gather(capped(nanoFromUsd(1), { outputTokens: 100_000 }), 2_000)
      assert.strictEqual(reply.choices[0]?.message.content, " a".repeat(2_000))
      assert.strictEqual(reply.choices[0]?.finish_reason, "stop")
      assert.deepStrictEqual(reply.usage, { promptTokens: 10, completionTokens: 2_000, cachedTokens: 0 })
      assert.strictEqual(reply.systemFingerprint, "fp")
    }).pipe(Effect.provide(meter))
  )

  it.effect("ends where the budget ends, and says so", () =>
    Effect.gen(function* () {
      const reply = yield* gather(capped(10_000 + 1_500 * 2_000, { outputTokens: 100_000 }), 2_000)
      assert.strictEqual(reply.choices[0]?.message.content, " a".repeat(1_500))
      assert.strictEqual(reply.choices[0]?.finish_reason, "length")
      assert.isNull(reply.usage)
    }).pipe(Effect.provide(meter))
  )

  it.effect("fails if it has no end", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(collectReply(tokens(3), "alpha", () => undefined))
      assert.deepInclude(error, { _tag: "ProviderError", provider: "alpha" })
    })
  )
})

describe("waiting for others", () => {
  it.effect("a request without room gets in when another request's worst case has settled", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const cap = 1_000_000
      const first = capped(cap, { outputTokens: 400 })
      yield* reserve(first)
      const second = yield* Effect.forkChild(reserve(capped(cap, { outputTokens: 400 })), { startImmediately: true })
      assert.isUndefined(second.pollUnsafe(), "810,000 are held")
      yield* settle(first, ended(5))
      assert.strictEqual((yield* Fiber.join(second))._tag, "Reserved")
      assert.deepStrictEqual(yield* balance, { spentNano: 20_000, reservedNano: 810_000 })
    }).pipe(Effect.provide(meter))
  )

  it.effect("first come, first served", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const cap = 100_000
      const served: Array<number> = []
      const first = capped(cap, { outputTokens: 45 })
      yield* reserve(first)
      const others = yield* Effect.forEach([1, 2, 3, 4], (number) =>
        Effect.forkChild(
          Effect.gen(function* () {
            const request = capped(cap, { outputTokens: 45 })
            yield* reserve(request)
            served.push(number)
            yield* settle(request, ended(0, 1))
          }),
          { startImmediately: true }
        )
      )
      assert.deepStrictEqual(served, [])
      yield* settle(first, ended(0, 0))
      yield* Effect.raceFirst(Fiber.joinAll(others), TestClock.adjust("5 seconds"))
      assert.deepStrictEqual(served, [1, 2, 3, 4])
    }).pipe(Effect.provide(meter))
  )

  it.effect("budget that other processes release is noticed", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const { reserve } = yield* Meter
      const other = {
        generationId: "gen_other",
        keyId: KEY,
        ownerId: null,
        model: "test/small",
        month: "1970-01",
        amountNano: 90_000,
        capNano: null,
        createdAtMs: 0,
        leaseMs: 1_000,
        processId: "prc_other"
      }
      yield* ledger.reserve(other)
      const waiting = yield* Effect.forkChild(reserve(capped(100_000, { outputTokens: 20 })), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(waiting.pollUnsafe())
      yield* ledger.void(other.generationId)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Reserved")
    }).pipe(Effect.provide(meter))
  )

  it.effect("a request does not wait for money that is spent", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const spender = capped(100_000, { outputTokens: 45 })
      yield* reserve(spender)
      yield* settle(spender, ended(45))
      const outcome = yield* reserve(capped(100_000, { outputTokens: 20 }))
      assert.deepInclude(outcome, { _tag: "Refused", balance: { spentNano: 100_000, reservedNano: 0 } })
    }).pipe(Effect.provide(meter))
  )

  it.effect("200 concurrent requests on a budget for 50 use all of it, and no more", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const cap = 50 * 30_000
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 200 }),
        () =>
          Effect.gen(function* () {
            const request = capped(cap, { outputTokens: 100 })
            const outcome = yield* reserve(request)
            if (outcome._tag === "Refused") return false
            yield* Effect.yieldNow
            yield* settle(request, ended(Math.min(10, request.reservation.held.affordableTokens ?? 10)))
            return true
          }),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcomes.filter((isPaid) => isPaid).length, 50)
      assert.deepStrictEqual(yield* balance, { spentNano: cap, reservedNano: 0 })
    }).pipe(Effect.provide(meter))
  )
})

describe("settling", () => {
  it.effect("an answer that costs more than its reservation takes the rest from the budget", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const request = capped(nanoFromUsd(1), { outputTokens: 10 })
      yield* reserve(request)
      const { cost, reservation } = yield* settle(request, ended(10, 15))
      assert.deepStrictEqual([cost.billedNano, cost.markupNano], [35_000, 0])
      assert.deepStrictEqual(reservation, { reservedNano: 30_000, extendedNano: 5_000, settledNano: 35_000 })
    }).pipe(Effect.provide(meter))
  )

  it.effect("if the ledger cannot be asked for more, only the reservation is charged, then or later", () => {
    const { layer, trouble } = troubled()
    return Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const request = capped(30_500, { outputTokens: 10 })
      yield* reserve(request)
      trouble.isAway = true
      const { cost } = yield* settle(request, ended(10, 15))
      assert.deepStrictEqual([cost.totalNano, cost.billedNano], [35_000, 30_000])
      trouble.isAway = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* balance, { spentNano: 30_000, reservedNano: 0 })
    }).pipe(Effect.provide(meterOn(layer)))
  })

  it.effect("if the budget has no more, the cap holds, and the markup shows what was not charged", () =>
    Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const request = capped(32_000, { outputTokens: 10 })
      yield* reserve(request)
      const { cost } = yield* settle(request, ended(10, 15))
      assert.deepStrictEqual([cost.totalNano, cost.markupNano, cost.billedNano], [35_000, -3_000, 32_000])
      assert.deepStrictEqual(yield* balance, { spentNano: 32_000, reservedNano: 0 })
    }).pipe(Effect.provide(meter))
  )

  it.effect("a database that is away delays the settlement, not the answer", () => {
    const { layer, trouble } = troubled()
    return Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const request = capped(nanoFromUsd(1), { outputTokens: 10 })
      yield* reserve(request)
      trouble.isAway = true
      assert.strictEqual((yield* settle(request, ended(10))).cost.billedNano, 30_000)
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* balance, { spentNano: 0, reservedNano: 30_000 })
      trouble.isAway = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* balance, { spentNano: 30_000, reservedNano: 0 })
    }).pipe(Effect.provide(meterOn(layer)))
  })

  it.effect("a reservation with an unknown result is released: the database broke off, the client left", () => {
    const late: Array<Effect.Effect<unknown, StoreError>> = []
    const unheard = (then: Effect.Effect<never, StoreError>) =>
      Layer.effect(
        Ledger,
        Effect.map(Ledger, (ledger) =>
          Ledger.of({
            ...ledger,
            reserve: (reservation) => {
              late.push(ledger.reserve(reservation))
              return Effect.andThen(ledger.reserve(reservation), then)
            }
          })
        )
      ).pipe(Layer.provideMerge(LedgerMemory.layer))
    const held = { spentNano: 0, reservedNano: 30_000 }
    const nothing = { spentNano: 0, reservedNano: 0 }
    const request = () => capped(nanoFromUsd(1), { outputTokens: 10 })
    return Effect.gen(function* () {
      const broken = Effect.fail(new StoreError({ dependency: "database", cause: null }))
      yield* Effect.gen(function* () {
        const { reserve } = yield* Meter
        assert.strictEqual((yield* Effect.flip(reserve(request()))).reason._tag, "DependencyUnavailable")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* balance, nothing)
        // A database that hung may carry out the write later.
        yield* late[0] ?? Effect.die("nothing was reserved")
        assert.deepStrictEqual(yield* balance, held)
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(yield* balance, nothing)
      }).pipe(Effect.provide(meterOn(unheard(broken))))

      // A key without a cap gets the error before its reply.
      yield* Effect.gen(function* () {
        const { reserve } = yield* Meter
        const uncapped = meteredWith({ outputTokens: 10 })
        yield* reserve(uncapped)
        assert.strictEqual((yield* Effect.flip(uncapped.reservation.durable)).reason._tag, "DependencyUnavailable")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* balance, nothing)
        yield* late.at(-1) ?? Effect.die("nothing was reserved")
        assert.deepStrictEqual(yield* balance, held)
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(yield* balance, nothing)
      }).pipe(Effect.provide(meterOn(unheard(broken))))

      yield* Effect.gen(function* () {
        const { reserve } = yield* Meter
        const asking = yield* Effect.forkChild(reserve(request()), { startImmediately: true })
        assert.deepStrictEqual(yield* balance, held)
        yield* Fiber.interrupt(asking)
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* balance, nothing)
      }).pipe(Effect.provide(meterOn(unheard(Effect.never))))
    })
  })

  it.effect("a lease is renewed only while its request is open", () => {
    const { layer, trouble } = troubled()
    return Effect.gen(function* () {
      const { reserve, settle } = yield* Meter
      const ledger = yield* Ledger
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(trouble.renewals, 0)
      const request = meteredWith({ startedAtMs: 300_000 })
      yield* reserve(request)
      yield* TestClock.adjust("10 minutes")
      assert.isAtLeast(trouble.renewals, 19)
      assert.strictEqual(yield* ledger.settleExpired, 0, "it is alive")
      yield* settle(request, ended(10))
      const { renewals } = trouble
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(trouble.renewals, renewals)
    }).pipe(Effect.provide(meterOn(layer)))
  })
})

it.effect("a wait for budget ends with the client's deadline", () =>
  Effect.gen(function* () {
    const { reserve } = yield* Meter
    // Another request of the key holds all but a nano-USD of the cap, and never ends.
    yield* reserve(capped(30_001, { outputTokens: 10 }))
    const deadline = { ms: 500, explicit: true }
    const waiting = yield* Effect.forkChild(Effect.flip(reserve(capped(30_001, { outputTokens: 10, deadline }))), {
      startImmediately: true
    })
    yield* TestClock.adjust(499)
    assert.isUndefined(waiting.pollUnsafe())
    yield* TestClock.adjust(1)
    const { reason } = yield* Fiber.join(waiting)
    assert.strictEqual(reason._tag, "ProvidersTimedOut")
    assert.strictEqual((yield* balance)?.reservedNano, 30_000)
  }).pipe(Effect.provide(meter))
)

describe("a prompt that is not counted", () => {
  /** Reserves for one output token; 100 prompt tokens, at most 150. */
  const reserved = (capNano: number) =>
    Effect.gen(function* () {
      const { counts, prompt } = boundedPrompt(100, 150)
      const request = capped(capNano, { prompt, outputTokens: 1 })
      const result = yield* (yield* Meter).reserve(request)
      return { counts: counts(), heldNano: request.reservation.heldNano, result: result._tag, request }
    })

  it.effect("reserves its bound while half of the budget is left", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* reserved(304_000), { counts: 0, heldNano: 152_000, result: "Reserved" })
    }).pipe(Effect.provide(meter))
  )

  it.effect("is counted near the cap, and let through if its count fits", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* reserved(303_999), { counts: 1, heldNano: 102_000, result: "Reserved" })
    }).pipe(Effect.provide(meter))
  )

  it.effect("fits a budget for exactly its count", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* reserved(102_000), { counts: 1, heldNano: 102_000, result: "Reserved" })
    }).pipe(Effect.provide(meter))
  )

  it.effect("is refused for its count", () =>
    Effect.gen(function* () {
      const { counts, prompt } = boundedPrompt(100, 150)
      const result = yield* (yield* Meter).reserve(capped(101_999, { prompt, outputTokens: 1 }))
      assert.deepInclude(result, { _tag: "Refused", neededNano: 102_000 })
      assert.strictEqual(counts(), 1)
    }).pipe(Effect.provide(meter))
  )

  it.effect("is asked for once near the cap, after the key was found there", () =>
    Effect.gen(function* () {
      const { request } = yield* reserved(303_999)
      yield* (yield* Meter).void(request)
      assert.deepInclude(yield* reserved(1_000_000), { counts: 1, heldNano: 102_000 })
    }).pipe(Effect.provide(meter))
  )
})
