import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../src/domain/Ids.ts"
import { Meter } from "../../src/gateway/Meter.ts"
import { Policy } from "../../src/gateway/Policy.ts"
import { Ledger } from "../../src/store/Ledger.ts"
import { Limits } from "../../src/store/Limits.ts"
import { type OrderOptions, keyWith, orderWith } from "./orders.ts"

const layer = Layer.provideMerge(
  Layer.provideMerge(Policy.layer, Meter.layer({ markup: 0, ledger: { leaseMs: 150_000 } })),
  Layer.mergeAll(Ledger.layerMemory, Limits.layerMemory, Ids.layerSequence)
)

/** Through all three policies in their order: whether the rest was reached, or what refused. */
const passed = (options: OrderOptions & { readonly limits?: Partial<typeof tier> } = {}) =>
  Effect.gen(function* () {
    const policy = yield* Policy
    const { limits, ...rest } = options
    const order = orderWith(rest)
    const limited = { ...order, caller: { ...order.caller, limits: { ...tier, ...limits } } }
    const outcome = yield* Effect.result(
      Effect.succeed("reached").pipe(policy.whitelist(limited), policy.budget(limited), policy.rateLimit(limited))
    )
    return { order: limited, outcome: outcome._tag === "Success" ? outcome.success : outcome.failure.reason }
  })

const tier = { requestsPerMinute: 10, tokensPerMinute: 1_000, concurrency: 2 }

it.effect("who passes all three reaches the rest, and the order holds the verdict for the headers", () =>
  Effect.gen(function* () {
    const { order, outcome } = yield* Effect.scoped(passed())
    assert.strictEqual(outcome, "reached")
    assert.deepStrictEqual(order.facts.limits, {
      refusedBy: null,
      retryAfterMs: 0,
      requests: { limit: 10, remaining: 9, resetMs: 6_000 },
      tokens: { limit: 1_000, remaining: 990, resetMs: 600 }
    })
  }).pipe(Effect.provide(layer))
)

it.effect("the first refusal in the order of the specification is the answer", () =>
  Effect.gen(function* () {
    const wrong = { key: { monthlyBudgetNano: 0, allowedModels: ["other/*"] } }
    const tag = (options: Parameters<typeof passed>[0]) =>
      Effect.map(Effect.scoped(passed(options)), ({ outcome }) =>
        typeof outcome === "string" ? outcome : outcome._tag
      )
    assert.strictEqual(yield* tag({ ...wrong, limits: { requestsPerMinute: 0 } }), "RateLimited")
    assert.strictEqual(yield* tag(wrong), "BudgetExceeded")
    assert.strictEqual(yield* tag({ key: { allowedModels: ["other/*"] } }), "ModelNotAllowed")
    assert.strictEqual(yield* tag({ key: { allowedModels: ["test/*"] } }), "reached")
  }).pipe(Effect.provide(layer))
)

it.effect("each limit refuses by its name, with how much is allowed and when to come back", () =>
  Effect.gen(function* () {
    const refusal = (limits: Partial<typeof tier>, key: string) =>
      Effect.map(passed({ limits, key: { id: key } }), ({ outcome }) => outcome)
    yield* refusal({ requestsPerMinute: 1 }, "key_1")
    assert.deepInclude(yield* refusal({ requestsPerMinute: 1 }, "key_1"), {
      _tag: "RateLimited",
      limit: "requests",
      allowed: 1,
      retryAfterMs: 60_000
    })
    yield* refusal({ tokensPerMinute: 15 }, "key_2")
    assert.deepInclude(yield* refusal({ tokensPerMinute: 15 }, "key_2"), {
      _tag: "RateLimited",
      limit: "tokens",
      allowed: 15,
      retryAfterMs: 20_000
    })
    yield* refusal({ concurrency: 1 }, "key_3")
    assert.deepInclude(yield* refusal({ concurrency: 1 }, "key_3"), {
      _tag: "RateLimited",
      limit: "concurrency",
      allowed: 1,
      retryAfterMs: 1_000
    })
  }).pipe(Effect.scoped, Effect.provide(layer))
)

it.effect("the concurrency slot is held until the request's scope closes, whatever the ending", () =>
  Effect.gen(function* () {
    for (const exit of [Exit.void, Exit.die("bug"), Exit.interrupt(1)]) {
      const scope = yield* Scope.make()
      const first = yield* Scope.provide(passed({ limits: { concurrency: 1 } }), scope)
      assert.strictEqual(first.outcome, "reached")
      const second = yield* Effect.scoped(passed({ limits: { concurrency: 1 } }))
      assert.deepInclude(second.outcome, { _tag: "RateLimited", limit: "concurrency" })
      yield* Scope.close(scope, exit)
    }
  }).pipe(Effect.provide(layer))
)

it.effect(
  "a refused budget names cap, spent, reserved, needed, and the end of the month, once waiting was in vain",
  () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* ledger.reserve({
        generationId: "gen_other",
        keyId: keyWith().id,
        ownerId: null,
        model: "test/small",
        month: "1970-01",
        amountNano: 15_000,
        capNano: null,
        createdAtMs: 0,
        leaseUntilMs: 1_000,
        processId: "prc_1"
      })
      const asking = yield* Effect.forkChild(
        Effect.scoped(passed({ key: { monthlyBudgetNano: 20_000 }, outputTokens: 100 })),
        { startImmediately: true }
      )
      yield* TestClock.adjust("11 seconds")
      const { outcome } = yield* Fiber.join(asking)
      assert.deepInclude(outcome, {
        _tag: "BudgetExceeded",
        capNano: 20_000,
        spentNano: 0,
        reservedNano: 15_000,
        neededNano: 210_000,
        resetsAtMs: Date.UTC(1970, 1, 1)
      })
    }).pipe(Effect.provide(layer))
)

it.effect("an order that came to nothing gives the tokens back that it took on an estimate", () =>
  Effect.gen(function* () {
    const meter = yield* Meter
    const { order } = yield* Effect.scoped(passed({ outputTokens: 900 }))
    assert.strictEqual(order.facts.limits?.tokens.remaining, 90)
    yield* meter.void(order)
    yield* meter.void(order)
    const { order: next } = yield* Effect.scoped(passed())
    assert.strictEqual(next.facts.limits?.tokens.remaining, 990)
  }).pipe(Effect.provide(layer))
)
