/**
 * Clients that leave before the provider has reported usage: the gateway reads the provider for
 * five seconds more, then charges an estimate.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { nanoFromUsd } from "../../../src/domain/pricing/Money.ts"
import { ServerFault } from "../../../src/providers/Provider.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import { keyWith } from "../plans.ts"
import { ending, piece, saying, stop } from "../scripts.ts"
import { type Asked, begun, gatewayOn, ran } from "../streams.ts"

const thinks = { hidesReasoning: true }
const capped = { monthlyBudgetNano: nanoFromUsd(1) }

/** The generation in the ledger, once there is one. */
const record = Effect.gen(function* () {
  const { generations } = yield* (yield* GenerationStore).list({ keyId: keyWith().id, limit: 2, cursor: null })
  const [one, ...others] = generations
  assert.isEmpty(others)
  if (one === undefined) return assert.fail("not settled")
  const { promptTokens, completionTokens } = one.usage
  return { ...one, tokens: [promptTokens, completionTokens] }
})

const balance = Effect.gen(function* () {
  return (yield* (yield* Ledger).balances([keyWith().id], "1970-01")).get(keyWith().id)
})

/** Sends a request, leaves after `afterMs`, and lets `ms` pass meanwhile. */
const left = Effect.fnUntraced(function* (given: Asked, afterMs: number, ms: number) {
  const asking = Effect.scoped(
    given.request?.stream === false
      ? Effect.asVoid(ran(given))
      : Effect.flatMap(begun(given), ({ events }) => Stream.runDrain(events.stream))
  )
  const client = yield* Effect.forkChild(asking, { startImmediately: true })
  yield* TestClock.adjust(afterMs)
  const leaving = yield* Effect.forkChild(Fiber.interrupt(client), { startImmediately: true })
  yield* TestClock.adjust(ms)
  yield* Fiber.join(leaving)
})

const used = (completionTokens: number) => ({ promptTokens: 9, completionTokens, cachedTokens: 0 })
const streaming = (events: Script["events"] = []): Script => ({ events })

describe("a stream of a model with hidden reasoning", () => {
  it.effect("is charged what the provider reports after the client left", () => {
    const events = [piece("one"), 2_000, piece(" two"), stop, ending(used(5_000))]
    const { heard, layer } = gatewayOn({ alpha: streaming(events) }, { offer: thinks })
    return Effect.gen(function* () {
      yield* left({ key: capped }, 1_000, 1_500)
      assert.deepInclude(yield* record, {
        tokens: [9, 5_000],
        usageSource: "provider",
        cancelled: true,
        finishReason: null,
        errorType: null
      })
      assert.deepStrictEqual(yield* balance, { spentNano: 9_000 + 5_000 * 2_000, reservedNano: 0 })
      assert.isEmpty(heard.aborted)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is charged an estimate if the provider takes longer", () => {
    const { heard, layer } = gatewayOn({ alpha: streaming([piece("one"), 600_000, 600_000]) }, { offer: thinks })
    return Effect.gen(function* () {
      yield* left({ key: capped, request: { max_tokens: 10_000 } }, 1_000, 5_000)
      // Six seconds at 200 tokens each.
      assert.deepInclude(yield* record, { tokens: [7, 1_200], usageSource: "estimated", cancelled: true })
      assert.deepStrictEqual(yield* balance, { spentNano: 7_000 + 1_200 * 2_000, reservedNano: 0 })
      assert.deepStrictEqual(heard.aborted, ["alpha"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("before its first token too", () => {
    const { heard, layer } = gatewayOn({ alpha: { hangs: true } }, { offer: thinks })
    return Effect.gen(function* () {
      yield* left({ key: capped, request: { max_tokens: 10_000 } }, 1_000, 5_000)
      // Six seconds at 200 tokens each.
      assert.deepInclude(yield* record, { tokens: [7, 1_200], usageSource: "estimated", cancelled: true })
      assert.deepStrictEqual(heard.aborted, ["alpha"])
    }).pipe(Effect.provide(layer))
  })
})

describe("other streams", () => {
  it.effect("are charged at once for the output that came", () => {
    const { heard, layer } = gatewayOn({ alpha: streaming([piece("one two three"), 600_000]) })
    return Effect.gen(function* () {
      yield* left({ key: capped }, 1_000, 0)
      assert.deepInclude(yield* record, { tokens: [7, 3], usageSource: "counted", cancelled: true })
      assert.deepStrictEqual(heard.aborted, ["alpha"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("are read to the end if only the usage is missing", () => {
    const { layer } = gatewayOn({ alpha: streaming([piece("one two three"), stop, 1_000, ending(used(4))]) })
    return Effect.gen(function* () {
      yield* left({}, 500, 500)
      assert.deepInclude(yield* record, { tokens: [9, 4], usageSource: "provider", cancelled: true })
    }).pipe(Effect.provide(layer))
  })
})

describe("a whole reply", () => {
  const whole = (request: Asked["request"] = {}): Asked => ({ key: capped, request: { stream: false, ...request } })

  it.effect("is charged what the provider reports after the client left", () => {
    const { heard, layer } = gatewayOn({ alpha: { delayMs: 3_000, reply: saying("one two", used(20)) } })
    return Effect.gen(function* () {
      yield* left(whole({ max_tokens: 100 }), 1_000, 2_000)
      assert.deepInclude(yield* record, { tokens: [9, 20], usageSource: "provider", cancelled: true })
      assert.strictEqual((yield* balance)?.reservedNano, 0)
      assert.isEmpty(heard.aborted)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is charged an estimate, at most its limit, if the provider takes longer", () => {
    const { heard, layer } = gatewayOn({ alpha: { hangs: true } })
    return Effect.gen(function* () {
      yield* left(whole({ max_tokens: 100 }), 1_000, 5_000)
      assert.deepInclude(yield* record, { tokens: [7, 100], usageSource: "estimated", cancelled: true })
      assert.deepStrictEqual(yield* balance, { spentNano: 7_000 + 100 * 2_000, reservedNano: 0 })
      assert.deepStrictEqual(heard.aborted, ["alpha"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("calls no other provider after its client left", () => {
    const { heard, layer } = gatewayOn({
      alpha: { delayMs: 2_000, failure: new ServerFault({ status: 500, retryAfterMs: null }) },
      beta: { reply: saying("Hello") }
    })
    return Effect.gen(function* () {
      yield* left(whole({ max_tokens: 100 }), 1_000, 1_000)
      assert.deepInclude(yield* record, { tokens: [0, 0], cancelled: true })
      assert.deepStrictEqual(heard.calls, ["alpha"])
    }).pipe(Effect.provide(layer))
  })
})
